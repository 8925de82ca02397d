import Jobs
import SQLiteStore
import Testing

@testable import Control

/// A control without a daemon, over a database whose lock the caller holds.
@Suite struct OfflineControlTests {
    private func withControl(_ body: (StoreControl) async throws -> Void) async throws {
        try await TestStore.with { files in
            try await body(
                StoreControl(
                    store: files.store, database: files.database, version: "test", now: { Samples.moment }))
        }
    }

    @Test func jobsAreAcceptedAndSaidToWaitForADaemon() async throws {
        try await withControl { control in
            let answers = try await control.enqueue([
                Submission(.definition("echo")), Submission(.definition("other")), Submission(.definition("echo")),
            ])
            #expect(answers.count == 3)
            guard case .enqueued(let first) = answers[0], case .refused(let problem) = answers[1],
                case .enqueued(let third) = answers[2]
            else {
                Issue.record("\(answers)")
                return
            }
            #expect(problem.code == .unknownDefinition)
            #expect(first.jobs[0] < third.jobs[0])
            #expect(try await control.why(first.jobs[0]).reasons.last == .noDaemon)
            let status = try await control.status()
            #expect(status.state == .stopped && status.pid == nil && status.counts[.ready] == 2)
        }
    }

    @Test func whatNeedsADaemonSaysSo() async throws {
        try await withControl { control in
            let reload = await #expect(throws: ControlProblem.self) { try await control.reload() }
            #expect(reload?.code == .noDaemon)
            let spool = await #expect(throws: ControlProblem.self) {
                try await control.spool(AsyncStream<[UInt8]> { $0.finish() }, size: nil)
            }
            #expect(spool?.code == .noDaemon)
        }
    }

    @Test func dependencyThatDoesNotExistIsRefused() async throws {
        try await withControl { control in
            let answers = try await control.enqueue([
                Submission(.definition("echo"), after: [.init(job: JobID(99))])
            ])
            guard case .refused(let problem)? = answers.first else {
                Issue.record("\(answers)")
                return
            }
            #expect(problem.code == .notFound)
            #expect(problem.message.contains("99"))
        }
    }

    @Test func closedStoreIsUnavailable() async throws {
        try await withControl { control in
            await (control.store as? SQLiteJobStore)?.close()
            let error = await #expect(throws: ControlProblem.self) {
                try await control.enqueue([Submission(.definition("echo"))])
            }
            #expect(error?.code == .unavailable)
        }
    }
}
