import CalendarEvents
import Jobs
import OperationTypes

@testable import ControlProtocol

/// Values that fill every field, and their leanest counterparts.
enum Samples {
    static let moment = Timestamp(milliseconds: 1_709_164_800_001)
    /// Spaces, escapes and a big number that any decoder would change.
    static let payload = JSONText(trusted: Array(#"{ "a" : 1.0e2, "b":"\u00e9\/", "c":123456789012345678901 }"#.utf8))

    static let job = JobRecord(
        id: JobID(7), graph: GraphID(3), node: "fetch", definition: "unfurl", definitionRevision: 2, kind: "unfurl",
        queue: "net", priority: .veryHigh, state: .scheduled, input: payload, attempt: 2, tries: 1, maxTries: 5,
        rescues: 1, pendingDependencies: 0, enqueuedAt: moment, dueAt: moment + .seconds(1),
        startedAt: moment + .seconds(2), finishedAt: moment + .seconds(3), cancelRequestedAt: moment + .seconds(4),
        repeats: JobID(1))
    static let leanJob = JobRecord(
        id: JobID(8), graph: nil, node: nil, definition: "d", definitionRevision: 1, kind: "k", queue: "default",
        priority: .low, state: .ready, input: nil, attempt: 0, tries: 0, maxTries: 1, rescues: 0,
        pendingDependencies: 0, enqueuedAt: moment, dueAt: nil, startedAt: nil, finishedAt: nil,
        cancelRequestedAt: nil, repeats: nil)
    static let failure = JobFailure(code: "timed_out", message: "It took \"too\" long.\n", detail: payload)
    static let succeeded = JobResult(job: JobID(7), attempt: 2, value: .succeeded(payload), finishedAt: moment)
    static let ended = JobResult(job: JobID(7), attempt: 0, value: .ended(.skipped, failure), finishedAt: moment)
    static let attempt = AttemptRecord(
        lease: Lease(job: JobID(7), attempt: 1), outcome: .timedOut, startedAt: moment, endedAt: moment,
        error: failure, retryAt: moment, connections: JSONText(elements: [payload]))
    static let neighbour = JobDetail.Neighbour(
        job: JobID(6), definition: "d", node: "n", state: .running, condition: .finished)
    static let detail = JobDetail(
        job: job, result: succeeded, attempts: [attempt], dependencies: [neighbour], dependents: [neighbour],
        progress: OperationProgress(completed: 5, total: 10, unit: "bytes"),
        checkpoint: Checkpoint(attempt: 2, savedAt: moment, value: payload), daemon: "one")
    static let counts: StateCounts = {
        var counts = StateCounts()
        for state in JobState.allCases { counts[state] = Int64(state.rawValue) * 1_000_000_000_000 }
        return counts
    }()
    static let graph = GraphRecord(
        id: GraphID(3), name: "save-link", enqueuedAt: moment, finishedAt: moment, counts: counts)
    static let queue = QueueRecord(
        settings: QueueSettings(name: "net", limit: 4, limitPerDaemon: 3, weight: 2), pausedAt: moment, counts: counts)
    static let definition = Definition(
        name: "unfurl", kind: "unfurl", summary: "Follows.", queue: "net", priority: .high,
        retry: RetryPolicy(
            tries: 3, delay: .exponential(initial: .milliseconds(250), multiplier: 1.5, cap: .seconds(60)),
            jitter: .full, failures: .codes(["b", "a"])),
        timeout: .milliseconds(1500), input: payload.compact)
    static let graphDefinition = GraphDefinition(
        name: "save-link", summary: "All.",
        nodes: [
            .init(name: "a", definition: "unfurl"),
            .init(
                name: "b", definition: "enrich", after: [.init(node: "a", condition: .finished)],
                input: payload.compact,
                queue: "net", priority: .low),
        ],
        parameters: [.init(name: "url", node: "a", field: "url")])
    static let definitions = DefinitionSet(
        kinds: [
            KindDescription(
                name: "unfurl", summary: "s", inputType: "I", outputType: "O", accepts: "Link", offers: "Link",
                fields: [
                    InputField(
                        "method", .string, choices: ["GET", "HEAD"], range: -1...Int64.max, schemes: ["https"],
                        isRequired: true, isFromDependency: true,
                        summary: "m")
                ])
        ],
        queues: [QueueSettings(name: "net", limit: 4, weight: 2)],
        definitions: [
            StoredDefinition(
                id: DefinitionID(9), revision: 2, definition: definition, updatedAt: moment, problem: "p")
        ],
        graphs: [
            StoredGraphDefinition(revision: 1, definition: graphDefinition, updatedAt: moment, problem: nil)
        ], schedules: [schedule.schedule])
    static let schedule = ScheduleRecord(
        schedule: Schedule(
            name: "nightly", summary: "s", calendar: (try? CalendarExpression("daily")).map { [$0] } ?? [],
            definition: "save-link", input: payload.compact,
            queue: "net", priority: .low, isPersistent: true, overlap: .allow),
        revision: 3, updatedAt: moment, afterAt: moment, nextAt: moment + .seconds(1), pausedAt: moment, lastAt: moment,
        lastJob: JobID(7), lastGraph: GraphID(2), skippedAt: moment, problem: "p")
    static let submission = Submission(
        .definition("save-link"), input: payload, queue: "net", priority: .high,
        after: [.init(job: JobID(4), condition: .finished)], start: .at(moment), key: "k")
    static let graphSubmission = Submission(
        .jobs(
            [
                JobRequest(
                    node: "a", definition: "unfurl", input: payload, queue: "q", priority: .low, startAt: moment),
                JobRequest(
                    node: "b", definition: "enrich",
                    after: [.init(.node("a")), .init(.job(JobID(2)), condition: .finished)]),
            ], name: "own"), start: .after(.milliseconds(1500)))
    static let status = StatusReport(
        state: .draining, pid: 42, version: "1.0.0", database: "/var/lib/halyard/halyard.db", startedAt: moment,
        counts: counts, queues: [queue], nextDueAt: moment,
        spool: SpoolReport(files: 3, bytes: 9, maxBytes: 100, keptFiles: 2, keptBytes: 8), problems: ["one", "two"])
    static let workers = [
        WorkerRecord(
            name: "photos", version: "1.0", kinds: ["resize"], processLimit: 2, attemptLimit: 8,
            processes: [
                .init(pid: 812, state: .ready, startedAt: moment, attempts: 3, isProbe: false),
                .init(pid: nil, state: .starting, startedAt: moment, attempts: 0, isProbe: true),
            ], waiting: 1, crashes: 4, restsUntil: moment, problem: "worker photos ended"),
        WorkerRecord(name: "idle", processLimit: 1, attemptLimit: 1),
        WorkerRecord(name: "former", processLimit: 1, attemptLimit: 1, isRemoved: true),
    ]
    static let daemons = [
        DaemonRecord(
            lease: 7, name: "one", host: "web", version: "1.0", state: .ended, queues: ["mail"], kinds: ["resize"],
            running: 2, startedAt: moment, seenAt: moment, aliveUntil: moment, endedAt: moment,
            drainedAt: moment),
        DaemonRecord(
            lease: 8, name: "two", host: "web", version: "1.0", state: .running, startedAt: moment, seenAt: moment),
    ]

    static let reasons: [WaitExplanation.Reason] = [
        .dependency(neighbour), .moreDependencies(3), .time(dueAt: moment),
        .retry(dueAt: moment, afterCode: "http_status"),
        .queuePaused(queue: "net"), .queueLimit(queue: "net", running: 4, limit: 4),
        .queueLimitPerDaemon(queue: "net", limit: 2, daemons: ["one", "two"]), .slots(running: 8, limit: 8),
        .turn(queue: "net", ready: 9),
        .trial(of: [JobID(3), JobID(4)], endsAt: moment), .worker(problem: "It rests."),
        .workerLimit(worker: "photos", running: 8, limit: 8), .suspect(worker: "photos"), .store(problem: "cut"),
        .home(daemon: "one", endedAt: moment, drainedAt: moment), .home(daemon: "one", endedAt: nil, drainedAt: nil),
        .unserved(queue: "net", kind: nil, daemon: nil), .unserved(queue: "net", kind: "resize", daemon: "one"),
        .drained(daemons: ["one", "two"]),
        .noDaemon,
        .running(attempt: 2, startedAt: moment),
        .final(.skipped, JobFailure(code: "dependency_failed", message: "It failed.")),
        .final(.succeeded, nil), .unmet(neighbour, nil),
    ]
}
