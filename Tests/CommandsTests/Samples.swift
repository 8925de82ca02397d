import ControlProtocol
import Jobs
import OperationTypes

/// Values to render, at a fixed time.
enum Samples {
    /// 2026-07-25T10:00:00.000Z.
    static let now = Timestamp(milliseconds: 1_784_973_600_000)

    static func ago(_ seconds: Int64) -> Timestamp { now + .seconds(-seconds) }

    static func job(
        _ id: Int64, _ state: JobState, definition: String = "unfurl", node: String? = nil, graph: Int64? = nil,
        priority: Priority = .normal, input: String? = nil, pending: Int = 0, due: Timestamp? = nil
    ) -> JobRecord {
        let hasRun = state == .running || state == .succeeded || state == .failed
        return JobRecord(
            id: JobID(id), graph: graph.map { GraphID($0) }, node: node, definition: definition, definitionRevision: 2,
            kind: definition, queue: "default", priority: priority, state: state,
            input: input.map { JSONText(trusted: Array($0.utf8)) }, attempt: hasRun ? 1 : 0,
            tries: state.isFinal && hasRun ? 1 : 0, maxTries: 5, rescues: 0, pendingDependencies: pending,
            enqueuedAt: ago(180), dueAt: due, startedAt: hasRun ? ago(90) : nil,
            finishedAt: state.isFinal ? ago(60) : nil, cancelRequestedAt: nil, repeats: nil)
    }

    /// One job in each state, some with names that contain terminal escape sequences.
    static let jobs: [JobRecord] = [
        job(101, .blocked, definition: "upload", node: "store", graph: 7, pending: 2),
        job(100, .scheduled, due: ago(-3600)),
        job(99, .ready, priority: .veryHigh, due: ago(5)),
        job(98, .running, definition: "upload"),
        job(97, .succeeded, definition: "enrich", node: "größe世界", graph: 7),
        job(96, .failed, definition: "evil\u{1B}[2J\u{202E}"),
        job(95, .cancelled, priority: .low),
        job(9, .skipped, node: "last", graph: 6),
    ]

    static let failure = JobFailure(
        code: "http_status", message: "The server answered 503\u{1B}]0;x\u{07}. Try again later.")

    /// An excerpt of a longer list of connections; one of them contains a terminal escape sequence.
    static let connections: JSONText = {
        var first = ConnectionRecord(
            method: "HEAD", origin: "https://files.example.org", address: "[2001:db8::1]:443", startedAt: ago(90))
        first.number = 1
        first.isReused = false
        first.tls = "1.3"
        first.protocolName = "HTTP/1.1"
        first.totalMs = 45
        first.status = 201
        var second = first
        second.number = 2
        second.isReused = true
        second.proxy = "http://proxy:3128"
        second.error = "connection_lost\u{1B}[2J"
        second.totalMs = 1200
        var last = ConnectionRecord(
            method: "PUT", origin: "http://10.0.0.1:8080", address: "10.0.0.1:8080", startedAt: ago(60))
        last.number = 67
        return JSONText(elements: [first, second, last].map(\.json))
    }()

    static let detail: JobDetail = {
        var record = job(96, .failed, definition: "upload", node: "store", graph: 7, input: #"{"file":"/srv/a b.jpg"}"#)
        record.repeats = JobID(12)
        record.rescues = 1
        let attempts = [
            AttemptRecord(
                lease: Lease(job: record.id, attempt: 1), outcome: .crashed, startedAt: ago(150), endedAt: ago(120),
                error: JobFailure(code: "crashed", message: "Another job ran in it."), retryAt: nil),
            AttemptRecord(
                lease: Lease(job: record.id, attempt: 2), outcome: .failed, startedAt: ago(90), endedAt: ago(60),
                error: failure, retryAt: nil, connections: connections),
        ]
        return JobDetail(
            job: record,
            result: JobResult(job: record.id, attempt: 2, value: .ended(.failed, failure), finishedAt: ago(60)),
            attempts: attempts, crashes: CrashReport(counted: 0, limit: 3),
            dependencies: [
                .init(job: JobID(94), definition: "unfurl", node: "resolve", state: .succeeded, condition: .succeeded),
                .init(job: JobID(95), definition: "enrich", node: nil, state: .failed, condition: .finished),
            ],
            dependents: [
                .init(job: JobID(97), definition: "notify", node: nil, state: .skipped, condition: .succeeded)
            ],
            progress: OperationProgress(completed: 28_101_837, total: 67_108_864, unit: "bytes"),
            checkpoint: Checkpoint(
                attempt: 2, savedAt: ago(70), value: JSONText(trusted: Array(#"{"offset":28101837}"#.utf8))))
    }()

    /// A diamond with a tail, an edge on `finished`, and a dependency outside the graph.
    static let graph: GraphDetail = {
        let jobs = [
            job(41, .succeeded, node: "resolve", graph: 7),
            job(42, .failed, definition: "enrich", node: "page \"x\" [y]", graph: 7),
            job(43, .running, definition: "enrich", node: "picture", graph: 7),
            job(44, .blocked, definition: "upload", node: "store", graph: 7, pending: 1),
            job(45, .blocked, definition: "upload", node: "tail", graph: 7, pending: 1),
            job(46, .ready, node: "alone", graph: 7, due: ago(5)),
        ]
        func edge(_ dependency: Int64, _ dependent: Int64, _ condition: DependencyCondition = .succeeded)
            -> DependencyRecord
        {
            DependencyRecord(dependent: JobID(dependent), dependency: JobID(dependency), condition: condition)
        }
        var counts = StateCounts()
        for job in jobs { counts[job.state] += 1 }
        return GraphDetail(
            graph: GraphRecord(
                id: GraphID(7), name: "save-link", enqueuedAt: ago(180), finishedAt: nil, counts: counts),
            jobs: jobs,
            edges: [
                edge(41, 42), edge(41, 43), edge(42, 44, .finished), edge(43, 44), edge(44, 45),
                edge(12, 41, .finished),
            ])
    }()

    static let queues: [QueueRecord] = {
        var counts = StateCounts()
        counts[.running] = 3
        counts[.ready] = 1_234_567
        return [
            QueueRecord(settings: QueueSettings(name: "default"), pausedAt: nil, counts: counts),
            QueueRecord(
                settings: QueueSettings(name: "slow", limit: 1, weight: 3), pausedAt: ago(7200), counts: StateCounts()),
        ]
    }()

    static let workers = [
        WorkerRecord(
            name: "halyard-worker", version: "0.1.0", kinds: ["enrich", "unfurl", "upload"], processLimit: 1,
            attemptLimit: 256,
            processes: [.init(pid: 812, state: .ready, startedAt: ago(300), attempts: 12, isProbe: false)]),
        WorkerRecord(
            name: "photos", kinds: ["resize"], processLimit: 2, attemptLimit: 8,
            processes: [
                .init(pid: 901, state: .ending, startedAt: ago(30), attempts: 1, isProbe: false),
                .init(pid: nil, state: .starting, startedAt: now, attempts: 0, isProbe: true),
            ], waiting: 3, crashes: 1200),
        WorkerRecord(
            name: "broken", processLimit: 1, attemptLimit: 1, crashes: 5, restsUntil: ago(-4),
            problem: "worker broken exited with status 1; its jobs wait, and it starts again in 4s"),
        WorkerRecord(
            name: "former", kinds: ["scan"], processLimit: 1, attemptLimit: 8,
            processes: [.init(pid: 777, state: .ending, startedAt: ago(60), attempts: 2, isProbe: false)],
            isRemoved: true),
    ]

    static let status = StatusReport(
        state: .running, pid: 812, version: "0.1.0", database: "/var/lib/halyard/halyard.db", startedAt: ago(86_400),
        counts: queues[0].counts, queues: queues, nextDueAt: ago(-3600),
        spool: SpoolReport(files: 3, bytes: 12_582_912, maxBytes: 16 << 30, keptFiles: 2, keptBytes: 1_048_576),
        problems: ["definition resize: its kind thumbnail is unknown to this daemon; remove it or upgrade."])

    static let definitions: DefinitionSet = {
        let fields = [
            InputField("url", .string, isRequired: true, isFromDependency: true, summary: "The address to resolve."),
            InputField("max_hops", .integer, summary: "At most so many redirects; 10."),
            InputField("method", .string, choices: ["HEAD", "GET"], summary: "How to ask."),
            InputField("headers", .object, summary: "Headers of the request."),
        ]
        let upload = [
            InputField("file", .string, summary: "The file to send."),
            InputField("url", .string, isRequired: true, summary: "Where to."),
        ]
        let broken = Definition(name: "broken", kind: "thumbnail")
        func kind(_ name: String, _ fields: [InputField]) -> KindDescription {
            KindDescription(
                name: name, summary: "", inputType: "I", outputType: "O", accepts: nil, offers: "Link", fields: fields)
        }
        let unfurl = Definition(
            name: "unfurl", kind: "unfurl", summary: "Follow a short link", timeout: .seconds(30),
            input: JSONText(trusted: Array(#"{"max_hops":5}"#.utf8)))
        let store = Definition(
            name: "upload", kind: "upload", queue: "slow", priority: .low,
            retry: RetryPolicy(
                tries: 3, delay: .list([.seconds(1), .seconds(60)]), failures: .codes(["http_status", "timed_out"])))
        let saveLink = GraphDefinition(
            name: "save-link", summary: nil,
            nodes: [
                .init(name: "resolve", definition: "unfurl"),
                .init(
                    name: "store", definition: "upload", after: [.init(node: "resolve", condition: .finished)],
                    input: JSONText(trusted: Array(#"{"url":"http://files/"}"#.utf8))),
            ],
            parameters: [
                .init(name: "url", node: "resolve", field: "url"), .init(name: "to", node: "store", field: "url"),
            ])
        return DefinitionSet(
            kinds: [kind("unfurl", fields), kind("upload", upload)], queues: queues.map(\.settings),
            definitions: [
                StoredDefinition(id: DefinitionID(1), revision: 2, definition: unfurl, updatedAt: ago(3600)),
                StoredDefinition(
                    id: DefinitionID(2), revision: 1, definition: store, updatedAt: ago(3600)),
                StoredDefinition(
                    id: DefinitionID(3), revision: 1, definition: broken, updatedAt: ago(3600),
                    problem: "unknown kind thumbnail"),
            ],
            graphs: [StoredGraphDefinition(revision: 1, definition: saveLink, updatedAt: ago(3600))])
    }()
}
