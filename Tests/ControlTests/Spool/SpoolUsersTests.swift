import Jobs
import SQLiteStore
import Testing

@testable import Control

/// A file of the spool lives as long as an open job names it.
@Suite struct SpoolUsersTests {
    private struct Bench {
        let files: TestStore
        let spool: Spool
        let users: SpoolUsers

        init(_ files: TestStore) throws {
            self.files = files
            spool = try Spool(directory: files.directory + "/spool", maxBytes: 1 << 20)
            users = SpoolUsers(spool: spool, store: files.store)
        }

        func enqueue() async throws -> (job: JobID, file: SpoolName, input: JSONText) {
            let content = AsyncStream<[UInt8]> { pieces in
                pieces.yield([1, 2, 3])
                pieces.finish()
            }
            let name = try await users.keep(content, size: 3, now: Samples.moment)
            let file = try #require(SpoolName(String(name.dropFirst(Spool.prefix.count))))
            let input = JSONText(trusted: Array("{\"file\":\"\(name)\"}".utf8))
            let definition = try #require(try await files.store.definitions().definitions.first)
            let outcomes = try await files.store.enqueue(
                [NewGraph(isGraph: false, jobs: [NewJob(definition: definition.id, input: input)])],
                now: Samples.moment)
            guard case .enqueued(let receipt)? = outcomes.first else { throw Refused() }
            return (receipt.jobs[0], file, input)
        }

        struct Refused: Error {}

        func finishAll() async throws {
            let claimed = try await files.store.exchange([], claim: ClaimRequest(slots: 10), now: Samples.moment)
                .claimed
            _ = try await files.store.exchange(
                claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(.emptyObject)) }, claim: nil,
                now: Samples.moment)
        }
    }

    @Test func aFileIsKeptWhenItsJobCannotBeReadAndGoesWithIt() async throws {
        try await TestStore.with { files in
            let bench = try Bench(files)
            let (job, file, input) = try await bench.enqueue()
            try files.tamper("ALTER TABLE job_input RENAME TO hidden")
            await #expect(throws: StoreError.self) { try await files.store.job(job) }
            await bench.users.add(job, input: input)
            #expect(try await bench.spool.files() == [file])
            try files.tamper("ALTER TABLE hidden RENAME TO job_input")
            // The job was remembered all the same: its end lets the file go.
            try await bench.finishAll()
            #expect(try await files.store.job(job)?.state == .succeeded)
            #expect(try await bench.spool.files().isEmpty)
        }
    }

    @Test func aJobThatEndedBeforeItWasAddedLetsItsFileGo() async throws {
        try await TestStore.with { files in
            let bench = try Bench(files)
            let (job, file, input) = try await bench.enqueue()
            try await bench.finishAll()
            #expect(try await bench.spool.files() == [file])
            await bench.users.add(job, input: input)
            #expect(try await bench.spool.files().isEmpty)
        }
    }
}
