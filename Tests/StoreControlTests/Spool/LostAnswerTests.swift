import ControlProtocol
import Jobs
import SQLiteStore
import Testing

@testable import StoreControl

/// A file that was sent for a job whose enqueue got no answer.
@Suite struct LostAnswerTests {
    private struct Bench {
        let store: ForgetfulStore
        let spool: Spool
        let control: StoreControl
        let file: SpoolName
        let job: JobID

        /// Sends a file, and enqueues a job with it and a key. The store carries that out, and its answer is lost.
        init(_ files: TestStore) async throws {
            store = ForgetfulStore(files.store)
            spool = try Spool(directory: files.directory + "/spool", maxBytes: 1 << 20)
            let hooks = DaemonHooks(
                condition: { .init(state: .running, pid: 1, startedAt: TestStore.moment) }, spool: spool)
            control = StoreControl(
                store: store, database: files.database, version: "1", daemon: hooks, now: { TestStore.moment })
            let content = AsyncStream<[UInt8]> { pieces in
                pieces.yield([1, 2, 3])
                pieces.finish()
            }
            let name = try await control.spool(content, size: 3)
            file = try #require(SpooledFile(name)?.name)
            store.loseNextAnswer()
            let answers = try await control.enqueue([
                Submission(
                    .definition("echo"), input: JSONText(trusted: Array(#"{"text":"\#(name)"}"#.utf8)), key: "once")
            ])
            store.reportAgain()
            guard case .duplicate(let receipt)? = answers.first, receipt.jobs.count == 1 else {
                throw ControlProblem(.internal, "\(answers)")
            }
            job = receipt.jobs[0]
        }

        /// Whether the spool has the file, after everything that was to be removed before is removed.
        func hasFile() async throws -> Bool { try await spool.files().contains(file) }

        func end(as ending: AttemptEnd.Ending) async throws {
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 10), now: TestStore.moment).claimed
            #expect(claimed.map(\.lease.job) == [job])
            _ = try await store.exchange(
                claimed.map { AttemptEnd(lease: $0.lease, ending: ending) }, claim: nil, now: TestStore.moment)
        }
    }

    @Test func theFileStaysUntilItsJobHasSucceeded() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            #expect(try await bench.hasFile())
            try await bench.end(as: .succeeded(.emptyObject))
            #expect(try await !bench.hasFile())
        }
    }

    @Test func theFileOfAFailedJobStaysForARetry() async throws {
        try await TestStore.with { files in
            let bench = try await Bench(files)
            try await bench.end(as: .failed(JobFailure(code: "code", message: "m")))
            #expect(try await bench.hasFile())
            #expect(try await bench.control.status().spool?.keptFiles == 1)
            let later = TestStore.moment + .seconds(1)
            #expect(try await bench.control.prune(PruneRequest(finishedBefore: later)).deleted == 1)
            #expect(try await !bench.hasFile())
        }
    }
}
