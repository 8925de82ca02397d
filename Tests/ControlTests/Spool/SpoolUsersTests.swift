import Jobs
import SQLiteStore
import Testing

@testable import Control

/// A file of the spool lives as long as something needs it.
@Suite struct SpoolUsersTests {
    private struct Bench {
        let files: TestStore
        let spool: Spool
        let users: SpoolUsers
        let definition: DefinitionID

        init(_ files: TestStore) async throws {
            self.files = files
            spool = try Spool(directory: files.directory + "/spool", maxBytes: 1 << 20)
            users = SpoolUsers(spool: spool, store: files.store)
            definition = try #require(try await files.store.definitions().definitions.first).id
        }

        /// Hands a file over and makes a job that names it.
        func job() async throws -> (graph: NewGraph, file: SpoolName) {
            let content = AsyncStream<[UInt8]> { pieces in
                pieces.yield([1, 2, 3])
                pieces.finish()
            }
            let name = try await users.keep(content, size: 3, now: Samples.moment)
            let file = try #require(SpoolName(String(name.dropFirst(Spool.prefix.count))))
            let input = JSONText(trusted: Array("{\"file\":\"\(name)\"}".utf8))
            return (NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)]), file)
        }

        func enqueue(_ graph: NewGraph) async throws {
            let outcomes = try await files.store.enqueue([graph], now: Samples.moment)
            guard case .enqueued? = outcomes.first else { throw Refused() }
        }

        struct Refused: Error {}

        func finishAll(children: [NewGraph] = []) async throws {
            let claimed = try await files.store.exchange([], claim: ClaimRequest(slots: 10), now: Samples.moment)
                .claimed
            _ = try await files.store.exchange(
                claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(.emptyObject, children: children)) },
                claim: nil, now: Samples.moment)
        }
    }

    @Test func aFileGoesWithTheLastJobThatNamesIt() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let running = try await files.store.exchange([], claim: ClaimRequest(slots: 1), now: Samples.moment).claimed
            try await bench.enqueue(graph)
            _ = try await files.store.exchange(
                running.map { AttemptEnd(lease: $0.lease, ending: .succeeded(.emptyObject)) }, claim: nil,
                now: Samples.moment)
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
            #expect(bench.users.problem(of: graph)?.code == .invalidInput)
        }
    }

    /// Between the look at the file and the commit, the last job that named it may end.
    @Test func aFileStaysForARequestThatIsUnderWay() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let held = bench.users.hold(graph)
            #expect(bench.users.problem(of: graph) == nil)
            try await bench.finishAll()
            #expect(try await bench.spool.files() == [file])
            try await bench.enqueue(graph)
            bench.users.release(held)
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aFileGoesWithARequestThatWasRefusedAfterItsLastJobEnded() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            // One that no job has named stays.
            bench.users.release(bench.users.hold(graph))
            #expect(try await bench.spool.files() == [file])
            try await bench.enqueue(graph)
            let held = bench.users.hold(graph)
            try await bench.finishAll()
            bench.users.release(held)
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aChildKeepsTheFileOfItsParent() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            try await bench.finishAll(children: [graph])
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aNewStartLearnsWhoNeedsWhat() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            let (graph, file) = try await bench.job()
            try await bench.enqueue(graph)
            let restarted = SpoolUsers(spool: bench.spool, store: files.store)
            try await restarted.recover(now: Samples.moment + Spool.leftoverAge + .seconds(1))
            #expect(try await bench.spool.files() == [file])
            try await bench.finishAll()
            #expect(try await bench.spool.files().isEmpty)
        }
    }
}
