import Client
import ControlProtocol
import Foundation
import Jobs
import OperationTypes
import Programs
import Testing

@testable import API

/// The OpenAPI document matches the server's routes and responses.
@Suite struct OpenAPITests {
    private func document() throws -> JSONObject {
        try #require(JSONObject(try JSONText(checking: PackageResources.openapi_json)))
    }

    @Test func everyRouteIsInTheDocumentAndTheOtherWayRound() async throws {
        let routes = Set(
            RouteTable(
                control: PartialControl(), answers: Answers(limits: ServerLimits(), stop: StopSignal()),
                limits: ServerLimits(), stop: StopSignal()
            ).descriptions)
        let methods: Set = ["get", "put", "post", "patch", "delete"]
        var documented: Set<String> = []
        let paths = try #require(try document()["paths"].flatMap { JSONObject($0) })
        for (path, item) in paths.fields {
            for name in try #require(JSONObject(item)).names where methods.contains(name) {
                documented.insert("\(name.uppercased()) \(path)")
            }
        }
        #expect(routes == documented)
        #expect(routes.count > 20)
    }

    @Test func everyProblemIsInTheDocument() throws {
        let text = String(decoding: PackageResources.openapi_json, as: UTF8.self)
        for code in ControlProblem.Code.allCases {
            #expect(text.contains("\"\(ControlProblem.Code.typePrefix)\(code.rawValue)\""))
            let problem = ControlProblem(code, "x")
            #expect(text.contains("\(code.rawValue) \(problem.status)"))
        }
    }

    @Test func documentIsServed() async throws {
        try await TestServer.with { server in
            let answer = try await Curl(socket: server.socket)("/v1/openapi.json")
            #expect(answer.type == "application/json")
            #expect(Array(answer.body.utf8.dropLast()) == PackageResources.openapi_json)
        }
    }

    @Test(.enabled("Python has no openapi-spec-validator") { await Python.has("openapi_spec_validator") })
    func documentIsValid() async throws {
        let said = try await Python.run(
            """
            import json, sys
            from openapi_spec_validator import OpenAPIV31SpecValidator
            for error in OpenAPIV31SpecValidator(json.load(sys.stdin)).iter_errors(): print(error)
            """, input: PackageResources.openapi_json)
        #expect(said.status == .exited(0) && said.output.isEmpty, "\(said)")
    }

    /// The document's objects are closed for this test: a response with an undescribed field is invalid.
    @Test(.enabled("Python has no jsonschema") { await Python.has("jsonschema") })
    func answersAreAsTheDocumentSays() async throws {
        let instances = try await TestServer.with { server in try await Self.answers(of: server) }
        var list: [JSONText] = []
        for (schema, json) in instances { list.append(JSONText(elements: [JSONText(string: schema), json])) }
        let input = JSONText(elements: [JSONText(trusted: PackageResources.openapi_json), JSONText(elements: list)])
        let said = try await Python.run(
            """
            import json, sys
            from jsonschema import Draft202012Validator
            document, instances = json.load(sys.stdin)
            def close(schema):
                if isinstance(schema, dict):
                    if "properties" in schema: schema.setdefault("additionalProperties", False)
                    for part in schema.values(): close(part)
                elif isinstance(schema, list):
                    for part in schema: close(part)
            close(document["components"])
            for name, value in instances:
                schema = {"$ref": "#/components/schemas/" + name, "components": document["components"]}
                for error in Draft202012Validator(schema).iter_errors(value):
                    print(name, list(error.absolute_path), error.message[:300])
            """, input: input.bytes)
        #expect(said.status == .exited(0) && said.output.isEmpty, "\(said)")
        #expect(instances.count > 30)
    }

    /// One response of each type, from a server on which much has happened.
    private static func answers(of server: TestServer) async throws -> [(String, JSONText)] {
        var found: [(String, JSONText)] = []
        func add(_ schema: String, _ value: some WireValue) { found.append((schema, value.json)) }
        let client = server.client
        let requests = [
            Submission(.definition("chain"), input: json(#"{"text":"a"}"#), priority: .veryLow, key: "k"),
            Submission(
                .jobs(
                    [
                        JobRequest(
                            node: "a", definition: "echo", input: json(#"{"text":"a"}"#), startAt: TestClock.start),
                        JobRequest(definition: "echo", after: [.init(.node("a"), condition: .finished)]),
                    ], name: "own"), queue: "slow", start: .after(.seconds(5))),
            Submission(.definition("echo"), input: json(#"{"text":"b"}"#), after: [.init(job: JobID(1))]),
        ]
        for request in requests { add("Submission", request) }
        for answer in try await client.enqueue(requests + requests + [Submission(.definition("none"))]) {
            add("SubmissionAnswer", answer)
            if case .refused(let problem) = answer { add("Problem", problem) }
            if case .enqueued(let receipt) = answer { add("Receipt", receipt) }
        }
        let claimed = try await server.claim()
        server.reports.report(claimed[0].lease.job, OperationProgress(completed: 1, total: 2, unit: "bytes"))
        let save = json(#"{"done":1}"#)
        #expect(try await server.store.save(save, under: claimed[0].lease, now: TestClock.start) == .saved)
        add("JobDetail", try await client.job(claimed[0].lease.job))
        let failure = JobFailure(code: "broken", message: "m", detail: json(#"{"a":1}"#))
        let log = ConnectionLog { TestClock.start }
        log.begin(method: "GET", origin: "http://h", address: "192.0.2.1:80", proxy: "http://p:1").update {
            $0.isReused = false
            $0.tls = "1.3"
            $0.protocolName = "HTTP/1.1"
            ($0.connectMs, $0.firstByteMs, $0.totalMs) = (1, 2, 3)
            $0.status = 200
            $0.error = "connection_lost"
        }
        _ = log.begin(method: "GET", origin: "http://h", address: "192.0.2.1:80")
        try await server.finish(
            claimed[0].lease, .retry(failure, after: .seconds(9)), connections: log.json)
        for job in claimed.dropFirst() { try await server.finish(job.lease, .succeeded(json("null"))) }
        for job in try await client.jobs(JobFilter()) {
            add("Job", job)
            add("JobDetail", try await client.job(job.id))
            add("Why", try await client.why(job.id))
        }
        _ = try await client.change(QueueChange(name: "slow", isPaused: true))
        for job in try await client.jobs(JobFilter()) { add("Why", try await client.why(job.id)) }
        for answer in try await client.cancel(.graph(GraphID(1))) { add("CancelAnswer", answer) }
        for answer in try await client.cancel(.jobs([JobID(1)])) { add("CancelAnswer", answer) }
        for try await event in try await client.watch(.graph(GraphID(1))) { add("Event", event) }
        add("Event", WatchEvent.progress(job: JobID(1), attempt: 1, OperationProgress(completed: 1, unit: "bytes")))
        for job in try await client.jobs(JobFilter()) {
            if let result = try await client.result(job.id) { add("Result", result) }
        }
        for graph in try await client.graphs(limit: 10, before: nil) {
            add("Graph", graph)
            add("GraphDetail", try await client.graph(graph.id))
        }
        for queue in try await client.queues() { add("Queue", queue) }
        add("QueueChange", QueueRequest(QueueChange(name: "slow", limit: 2, weight: 3, isPaused: false), create: true))
        add("QueueChange", QueueRequest(QueueChange(name: "slow", limitPerDaemon: .unlimited)))
        add("QueueChange", QueueRequest(QueueChange(name: "slow", limitPerDaemon: .atMost(4))))
        let document = "definitions: {more: {kind: echo, timeout: 90s, retry: {delay: list, delays: [1s], on: [a]}}}"
        for line in try await client.apply(document, dryRun: false) { add("DefinitionLine", line) }
        let schedules =
            "schedules: {a: {calendar: [daily, '*:0/5 UTC'], definition: chain, input: {text: a}, priority: low}}"
        for line in try await client.apply(schedules, dryRun: false) { add("DefinitionLine", line) }
        add("Receipt", try await client.run(schedule: "a"))
        for schedule in try await client.schedules() { add("ScheduleRecord", schedule) }
        add("ScheduleRecord", try await client.setPaused(true, schedule: "a"))
        add("ScheduleChange", ScheduleChange(isPaused: true))
        add("Definitions", try await client.definitions())
        add("Status", try await client.status())
        for worker in try await client.workers() { add("Worker", worker) }
        for daemon in try await client.daemons() { add("Daemon", daemon) }
        add("CancelRequest", CancelRequest(jobs: [JobID(1)]))
        add("PruneRequest", PruneRequest(finishedBefore: TestClock.start, outcomes: [.failed]))
        add("PruneAnswer", PruneAnswer(deleted: 1))
        add("SpoolAnswer", SpoolAnswer(file: "spool:a"))
        return found
    }
}

/// Uses the machine's Python for its JSON Schema validator, which Swift lacks.
private enum Python {
    static func has(_ module: String) async -> Bool {
        // An error means that Python is missing, and so is the module.
        (try? await run("import \(module)"))?.status == .exited(0)
    }

    static func run(
        _ script: String, input: [UInt8] = []
    ) async throws -> (status: ChildProcess.End?, output: String, errors: String) {
        try await ChildProcess.run(
            "python3", ["-c", script], environment: ProcessInfo.processInfo.environment,
            input: String(decoding: input, as: UTF8.self))
    }
}
