import Jobs
import OperationTypes
import Testing

@testable import ControlProtocol

/// Every value comes back equal, and what was written is JSON by the strict reader.
@Suite struct WireRoundTripTests {
    private func expectRoundTrip<Value: WireValue & Equatable>(
        _ values: Value..., sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for value in values {
            let json = value.json
            _ = try JSONText(checking: json.bytes)
            #expect(try Value(json: json) == value, "\(json.string)", sourceLocation: sourceLocation)
        }
    }

    @Test func recordsComeBack() throws {
        try expectRoundTrip(Samples.job, Samples.leanJob)
        try expectRoundTrip(Samples.succeeded, Samples.ended)
        try expectRoundTrip(
            JobResult(
                job: JobID(1), attempt: 1, value: .succeeded(JSONText(trusted: Array("null".utf8))),
                finishedAt: Samples.moment))
        try expectRoundTrip(Samples.attempt)
        try expectRoundTrip(
            Samples.graph,
            GraphRecord(
                id: GraphID(1), name: nil, enqueuedAt: Samples.moment, finishedAt: nil, counts: StateCounts()))
        try expectRoundTrip(
            Samples.queue,
            QueueRecord(
                settings: QueueSettings(name: "default"), pausedAt: nil, counts: StateCounts()))
        try expectRoundTrip(
            Samples.schedule,
            ScheduleRecord(
                schedule: Samples.schedule.schedule, revision: 1, updatedAt: Samples.moment, afterAt: Samples.moment),
            ScheduleRecord(
                schedule: Schedule(name: "unreadable", calendar: [], definition: ""), revision: 1,
                updatedAt: Samples.moment, afterAt: Samples.moment, problem: "What is stored cannot be read."))
        try expectRoundTrip(DependencyRecord(dependent: JobID(2), dependency: JobID(1), condition: .finished))
    }

    @Test func reportsComeBack() throws {
        try expectRoundTrip(Samples.detail)
        try expectRoundTrip(
            GraphDetail(
                graph: Samples.graph, jobs: [Samples.job, Samples.leanJob],
                edges: [DependencyRecord(dependent: JobID(8), dependency: JobID(7), condition: .succeeded)]))
        try expectRoundTrip(Samples.workers[0], Samples.workers[1], Samples.workers[2])
        try expectRoundTrip(ReloadReport(), ReloadReport(problems: ["worker photos ended"]))
        try expectRoundTrip(Samples.daemons[0], Samples.daemons[1])
        try expectRoundTrip(WaitExplanation(job: JobID(7), state: .ready, reasons: Samples.reasons))
        try expectRoundTrip(
            WatchEvent.job(Samples.job),
            .progress(job: JobID(7), attempt: 2, OperationProgress(completed: 1, total: nil, unit: "bytes")),
            .missed, .final)
        try expectRoundTrip(
            Samples.status,
            StatusReport(
                state: .stopped, pid: nil, version: "", database: "", startedAt: nil, counts: StateCounts(), queues: [],
                nextDueAt: nil, problems: []))
        try expectRoundTrip(
            DefinitionLine(change: .changed, type: "definition", name: "a", fields: ["timeout: 30s → 1m"]),
            DefinitionLine(change: .removed, type: "queue", name: "b"))
    }

    @Test func requestsAndTheirAnswersComeBack() throws {
        try expectRoundTrip(Samples.submission, Samples.graphSubmission, Submission(.definition("d")))
        let receipt = EnqueueReceipt(graph: GraphID(1), jobs: [JobID(1), JobID(2)])
        try expectRoundTrip(
            SubmissionAnswer.enqueued(receipt), .duplicate(EnqueueReceipt(graph: nil, jobs: [JobID(9)])),
            .refused(ControlProblem(.unknownDefinition, "No \"x\".", details: ["a", "b"])))
        try expectRoundTrip(
            CancelAnswer(job: JobID(1), result: .cancelled), CancelAnswer(job: JobID(1), result: .requested),
            CancelAnswer(job: JobID(1), result: .alreadyFinal(.failed)), CancelAnswer(job: JobID(1), result: .unknown))
        try expectRoundTrip(CancelRequest(jobs: [JobID(2), JobID(1)]), CancelRequest(jobs: []))
        try expectRoundTrip(PruneRequest(finishedBefore: Samples.moment, outcomes: [.failed, .skipped]))
        try expectRoundTrip(
            QueueRequest(QueueChange(name: "q", limit: 2, weight: 3, isPaused: false), create: true),
            QueueRequest(QueueChange(name: "q", limitPerDaemon: .atMost(3))),
            QueueRequest(QueueChange(name: "q", limitPerDaemon: .unlimited)), QueueRequest(QueueChange(name: "q")))
    }

    @Test func definitionsComeBack() throws {
        try expectRoundTrip(Samples.definitions, DefinitionSet())
    }

    @Test(arguments: ["[1]", "[2,1]", "[1,2,3]", "1"]) func noRangeIsRefused(json: String) {
        #expect(throws: ShapeProblem.self) { try ClosedRange<Int64>(json: JSONText(trusted: Array(json.utf8))) }
    }

    @Test(arguments: ControlProblem.Code.allCases) func everyProblemComesBack(code: ControlProblem.Code) throws {
        try expectRoundTrip(ControlProblem(code, "Sentence.", details: ["one"]))
    }

    @Test func everyNameComesBack() throws {
        for value in JobState.allCases { try expectRoundTrip(value) }
        for value in Outcome.allCases { try expectRoundTrip(value) }
        for value in AttemptOutcome.allCases { try expectRoundTrip(value) }
        for value in DependencyCondition.allCases { try expectRoundTrip(value) }
        for value in Priority.allCases { try expectRoundTrip(value) }
        for value in StatusReport.State.allCases { try expectRoundTrip(value) }
        for value in InputField.Shape.allCases { try expectRoundTrip(value) }
    }

    @Test func payloadIsTheBytesItWas() {
        #expect(Samples.job.json.string.contains("\"input\":" + Samples.payload.string + ","))
    }

    @Test func filterComesBackFromItsQuery() throws {
        let filters = [
            JobFilter(),
            JobFilter(
                states: [.ready, .running], queue: "a b&c", definition: "d", kind: "k", graph: GraphID(3),
                after: JobID(9), order: .oldestFirst, limit: 10_000),
        ]
        for filter in filters { #expect(try JobFilter(query: filter.query) == filter) }
    }
}
