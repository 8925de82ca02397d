import ControlProtocol
import Foundation
import Jobs
import OperationTypes
import PostgreSQL
import PostgresStore
import Testing

@testable import StoreControl

private let now = Timestamp(milliseconds: 1_700_000_000_000)
private let later = now + Spool.leftoverAge + .seconds(1)

/// Two daemons with one database and one folder for the files that callers send.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(10)))
struct SharedSpoolTests {
    private struct Daemon {
        let store: PostgresJobStore
        let spool: Spool
        let users: SpoolUsers
        let life: HolderID
        let url: String

        init(_ name: String, _ database: TestDatabase, folder: String) async throws {
            store = try database.open()
            url = database.url
            spool = try Spool(directory: folder, maxBytes: 1 << 20)
            users = SpoolUsers(spool: spool, store: store)
            life = try await store.begin(Holder(identity: name, host: name, version: "1"), now: now).id
            try await users.recover(now: now)
        }

        /// Keeps a file, and returns a job that names it.
        func job(of step: DefinitionID) async throws -> (graph: NewGraph, file: SpoolName) {
            let content = AsyncStream<[UInt8]> { pieces in
                pieces.yield([1, 2, 3])
                pieces.finish()
            }
            let name = try await users.keep(content, size: 3, now: now)
            let file = try #require(SpooledFile(name)?.name)
            let input = JSONText(trusted: Array("{\"file\":\"\(name)\"}".utf8))
            return (NewGraph(isGraph: false, jobs: [NewJob(definition: step, input: input)]), file)
        }

        /// Runs the jobs that are ready, which all succeed with these children.
        func runAll(children: [NewGraph] = []) async throws {
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 10), by: life, now: now).claimed
            let ends = claimed.map { job in
                AttemptEnd(lease: job.lease, ending: .succeeded(.emptyObject, children: children))
            }
            _ = try await store.exchange(ends, claim: nil, by: life, now: now)
        }
    }

    /// Runs `body` with two daemons.
    private func withDaemons(_ body: (_ one: Daemon, _ two: Daemon, DefinitionID) async throws -> Void) async throws {
        let database = try TestDatabase()
        let folder = FileManager.default.temporaryDirectory.appending(path: "halyard-spool-\(UUID().uuidString)").path
        // A folder that stays in the temporary folder harms nobody.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let one = try await Daemon("one", database, folder: folder)
        let two = try await Daemon("two", database, folder: folder)
        try await one.store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await one.store.definitions().definitions.first).id
        try await body(one, two, step)
        await one.store.close()
        await two.store.close()
    }

    /// Every role that may connect to the database can send notifications, also of jobs to come.
    @Test(arguments: [false, true]) func aForgedSuccessRemovesNoFile(isAccepted: Bool) async throws {
        try await withDaemons { one, _, step in
            let (graph, file) = try await one.job(of: step)
            let heard = Latch<Void>()
            let observation = one.store.observe { if case .schedules = $0 { heard.open() } }
            func forge() async throws {
                try Connection(to: one.url).run("SELECT pg_notify('halyard', '1|s|1,,4,1,,;')")
                await heard.uncancellableWait()
            }
            if !isAccepted { try await forge() }
            guard case .enqueued(let receipt) = try await one.store.enqueue([graph], now: now)[0] else {
                throw Unexpected()
            }
            #expect(receipt.jobs == [JobID(1)])
            if isAccepted { try await forge() }
            observation.cancel()
            try await one.users.removeAfterLook([file])
            _ = try await one.spool.files()
            #expect(one.spool.holds(file))
            try await one.runAll()
            try await one.users.removeAfterLook([file])
            _ = try await one.spool.files()
            #expect(!one.spool.holds(file))
        }
    }

    @Test func anOldFileOfAJobThatAnotherDaemonAcceptedStays() async throws {
        try await withDaemons { one, two, step in
            let (graph, file) = try await two.job(of: step)
            _ = try await two.store.enqueue([graph], now: now)
            // A day later, another file arrives at the first daemon.
            _ = try await one.users.keep(AsyncStream<[UInt8]> { $0.finish() }, size: 0, now: later)
            _ = try await one.spool.files()
            #expect(one.spool.holds(file))
            // When the job has succeeded, the file is a leftover.
            try await two.runAll()
            try await one.users.removeAfterLook([file])
            _ = try await one.spool.files()
            #expect(!one.spool.holds(file))
        }
    }

    @Test func anOldFileOfAnEnqueueWhoseAnswerWasLostStays() async throws {
        try await withDaemons { one, two, step in
            let (graph, file) = try await one.job(of: step)
            let held = one.users.hold(graph)
            // It is stored, but this daemon does not hear of it.
            _ = try await two.store.enqueue([graph], now: now)
            one.users.release(held)
            _ = try await one.users.keep(AsyncStream<[UInt8]> { $0.finish() }, size: 0, now: later)
            _ = try await one.spool.files()
            #expect(one.spool.holds(file))
        }
    }

    @Test func aChildThatAnotherDaemonEnqueuedKeepsTheFileOfItsParent() async throws {
        try await withDaemons { one, two, step in
            let (graph, file) = try await one.job(of: step)
            _ = try await one.store.enqueue([graph], now: now)
            try await two.runAll(children: [graph])
            try await one.users.removeAfterLook([file])
            _ = try await one.spool.files()
            #expect(one.spool.holds(file))
            try await two.runAll()
            try await one.users.removeAfterLook([file])
            _ = try await one.spool.files()
            #expect(!one.spool.holds(file))
        }
    }
}
