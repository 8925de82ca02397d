import CalendarEvents
import ControlProtocol
import Jobs
import SQLiteStore
import Testing

@testable import StoreControl

/// A control without a daemon, over a database whose lock the caller holds.
@Suite struct OfflineControlTests {
    private func withControl(_ body: (StoreControl) async throws -> Void) async throws {
        try await TestStore.with { files in
            try await body(
                StoreControl(
                    store: files.store, database: files.database, version: "test", now: { TestStore.moment }))
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

    @Test func aScheduleThatNeverComesAgainIsAcceptedWithAWarning() async throws {
        try await withControl { control in
            let document = """
                schedules:
                  spent: {calendar: "1999-01-01 UTC", definition: echo}
                  daily: {calendar: "*-*-* UTC", definition: echo}
                """
            let lines = try await control.apply(document, dryRun: false)
            #expect(lines.map(\.change) == [.added, .added])
            let warned = lines.filter { $0.warning != nil }
            #expect(warned.map(\.name) == ["spent"])
            #expect(warned.first?.warning?.contains("will not fire") == true)
        }
    }

    @Test func theAnswerNamesWhatWillNotRun() async throws {
        try await withControl { control in
            let first = try await control.enqueue(Submission(.definition("echo")))
            _ = try await control.cancel(.jobs(first.jobs))
            let after = try await control.enqueue(
                Submission(.definition("echo"), after: [.init(job: first.jobs[0])]))
            #expect(after.skipped == after.jobs)
            #expect(try EnqueueReceipt(json: after.json) == after)
        }
    }

    @Test func statusCountsTheJobsOfAQueueThatWasRemoved() async throws {
        try await withControl { control in
            _ = try await control.change(QueueChange(name: "net", limit: 1), create: true)
            let answers = try await control.enqueue([Submission(.definition("echo"), queue: "net")])
            guard case .enqueued(let receipt)? = answers.first else { throw Unexpected(answers) }
            _ = try await control.cancel(.jobs(receipt.jobs))
            try await control.removeQueue("net")
            #expect(try await control.status().counts[.cancelled] == 1)
        }
    }

    /// Each would have to be planned to know more, and the status is asked for often.
    @Test func statusTellsOfSchedulesWhatIsStored() async throws {
        try await withControl { control in
            let lost = Schedule(name: "lost", calendar: [try CalendarExpression("hourly")], definition: "nothing")
            try await control.store.change(DefinitionChange(schedules: [lost]), now: TestStore.moment)
            #expect(try await control.schedules()[0].problem?.contains("nothing") == true)
            #expect(try await control.status().problems == [])
            var timing = ScheduleTiming(
                try #require(try await control.store.schedule("lost")), after: TestStore.moment,
                nextAt: TestStore.moment + .seconds(60))
            timing.problem = .write("It is lost.")
            try await control.store.plan([timing])
            #expect(try await control.status().problems == [#"schedule "lost": It is lost."#])
        }
    }

    @Test func aDocumentWithASpentScheduleIsTaken() async throws {
        try await withControl { control in
            let document = "schedules: {once: {calendar: 2020-01-01, definition: echo}}"
            #expect(try await control.apply(document, dryRun: false).map(\.change) == [.added])
            let record = try await control.schedule("once")
            #expect(record.nextAt == nil && record.problem == nil)
            let again = try await control.exportDefinitions()
            try await control.removeSchedule("once")
            #expect(try await control.apply(again, dryRun: false).map(\.change).contains(.added))
        }
    }

    @Test func aJobAloneIsFoundByItsNumber() async throws {
        try await withControl { storeControl in
            let control: any JobControl = storeControl
            let ids = try await control.enqueue([Submission(.definition("echo")), Submission(.definition("echo"))])
                .flatMap { try $0.receipt().jobs }
            for id in ids { #expect(try await control.record(id) == control.job(id).job) }
            let error = await #expect(throws: ControlProblem.self) { try await control.record(JobID(99)) }
            #expect(error?.code == .notFound)
            _ = try await control.cancel(.jobs([ids[0]]))
            _ = try await control.prune(PruneRequest(finishedBefore: TestStore.moment + .seconds(1)))
            let pruned = await #expect(throws: ControlProblem.self) { try await control.record(ids[0]) }
            #expect(pruned?.code == .notFound)
        }
    }

    @Test func rowsThatNobodyCanReadKeepNoQueue() async throws {
        try await TestStore.with { files in
            let node = GraphDefinition.Node(name: "a", definition: "echo")
            try await files.store.change(
                DefinitionChange(
                    queues: [QueueChange(name: "net")],
                    graphs: ["a", "b"].map { GraphDefinition(name: $0, nodes: [node]) },
                    schedules: [Schedule(name: "s", calendar: [], definition: "echo")]), now: TestStore.moment)
            try await files.tamper(
                """
                UPDATE graph_definition SET body = '{' WHERE name = 'a';
                UPDATE graph_definition SET body = '{"nodes":["x"]}' WHERE name = 'b';
                UPDATE schedule SET body = '{';
                """)
            #expect(try await files.store.removeQueue("net", now: TestStore.moment) == .removed)
        }
    }

    private struct Unexpected: Error {
        let answers: [SubmissionAnswer]
        init(_ answers: [SubmissionAnswer]) { self.answers = answers }
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

    @Test func theOnlyDaemonOfAFileIsNotDrained() async throws {
        try await withControl { control in
            let problem = await #expect(throws: ControlProblem.self) {
                try await control.setDrained(true, daemon: "one")
            }
            #expect(problem?.code == .conflict)
            #expect(problem?.message.contains("halyard queues pause") == true)
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
