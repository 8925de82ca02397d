import Client
import ControlProtocol
import Foundation
import Jobs
import Testing

@testable import API

/// The `curl --unix-socket` examples of the documentation.
@Suite struct CurlTests {
    @Test func jobIsEnqueuedShownAndFinished() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            let body = #"{"definition": "echo", "input": {"text":  "hello"}, "priority": "high"}"#
            let accepted = try await curl("-i", "--json", body, "/v1/jobs")
            #expect(accepted.status == 201)
            #expect(accepted.body.lowercased().contains("location: /v1/jobs/1\r\n"))
            #expect(accepted.body.contains(#"{"status":"enqueued","jobs":[1]}"#))
            let shown = try await curl("/v1/jobs/1")
            #expect(shown.status == 200)
            #expect(shown.type == "application/json")
            // The response contains the bytes of the input unchanged.
            #expect(shown.body.contains(#""input":{"text":  "hello"}"#))
            let open = try await curl("/v1/jobs/1/result")
            #expect(open.status == 204 && open.body.isEmpty)
            try await server.runAll()
            let result = try await curl("/v1/jobs/1/result?wait=30s")
            #expect(result.body.contains(#""outcome":"succeeded""#))
            let events = try await curl("/v1/jobs/1/events")
            #expect(events.type == "application/x-ndjson")
            #expect(events.body.split(separator: "\n").last == #"{"event":"final"}"#)
        }
    }

    @Test func idempotencyKeyHeaderIsTheKey() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            let body = #"{"definition":"echo","input":{"text":"a"}}"#
            let first = try await curl("-H", "Idempotency-Key: once", "--json", body, "/v1/jobs")
            let second = try await curl("-H", "Idempotency-Key: once", "--json", body, "/v1/jobs")
            #expect(first.status == 201)
            #expect(second.status == 200)
            #expect(second.body.contains(#""status":"duplicate","jobs":[1]"#))
            let other = #"{"definition":"echo","input":{"text":"a"},"key":"twice"}"#
            let differing = try await curl("-H", "Idempotency-Key: once", "--json", other, "/v1/jobs")
            #expect(differing.status == 400)
        }
    }

    @Test func refusedSubmissionIsAProblemWithItsStatus() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            let unknown = try await curl("--json", #"{"definition":"ehco"}"#, "/v1/jobs")
            #expect(unknown.status == 404)
            #expect(unknown.type == "application/problem+json")
            #expect(unknown.body.contains(#""type":"urn:halyard:problem:unknown-definition""#))
            let input = try await curl("--json", #"{"definition":"echo","input":{"txet":"a"}}"#, "/v1/jobs")
            #expect(input.status == 422)
            #expect(input.body.contains(#"did you mean \"text\"?"#))
        }
    }

    @Test func queueIsPausedAndDefinitionsAreApplied() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            let paused = try await curl("-X", "PATCH", "--json", #"{"paused":true}"#, "/v1/queues/slow")
            #expect(paused.body.contains(#""name":"slow","limit":1,"weight":1,"paused":true"#))
            #expect(try await curl("/v1/queues/none").status == 404)
            let document = "definitions: {other: {kind: echo}}"
            let dry = try await curl("-T", "-", "/v1/definitions?dry_run=true", input: document)
            #expect(dry.status == 200, "\(dry.body)")
            #expect(dry.body.contains(#"{"change":"added","type":"definition","name":"other"}"#))
            #expect(try await curl("/v1/definitions/other").status == 404)
            _ = try await curl("-X", "PUT", "--data-binary", document, "/v1/definitions")
            #expect(try await curl("/v1/definitions/other").body.contains(#""name":"other","kind":"echo""#))
            let part = try await curl("/v1/definitions?for=chain")
            #expect(part.body.contains(#""name":"chain""#) && part.body.contains(#""name":"echo","kind":"echo""#))
            #expect(!part.body.contains(#""name":"other""#))
            let unknown = try await curl("/v1/definitions?for=ecko")
            #expect(unknown.status == 404 && unknown.body.contains(#"did you mean \"echo\"?"#), "\(unknown.body)")
            let yaml = try await curl("/v1/definitions?format=yaml")
            #expect(yaml.type == "application/yaml")
            #expect(yaml.body.contains("  other:\n    kind: echo"))
            #expect(try await curl("-X", "DELETE", "/v1/definitions/other").status == 204)
            #expect(try await curl("-X", "DELETE", "/v1/definitions/echo").status == 409)
        }
    }

    @Test func otherVerbsAnswer() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            _ = try await curl("--json", #"{"definition":"chain","input":{"text":"a"}}"#, "/v1/jobs")
            #expect(
                try await curl("/v1/jobs?state=ready,blocked&order=oldest_first").body.hasPrefix(
                    #"[{"job":1,"graph":1"#)
            )
            #expect(try await curl("/v1/jobs/2/why").body.contains(#""type":"dependency","job":1"#))
            #expect(try await curl("/v1/graphs/1").body.contains(#""edges":[{"dependent":2,"dependency":1"#))
            #expect(try await curl("/v1/graphs?limit=1").body.hasPrefix(#"[{"graph":1,"name":"chain""#))
            #expect(try await curl("-X", "POST", "/v1/jobs/1/cancel").body.contains(#""result":"cancelled""#))
            #expect(try await curl("-X", "POST", "/v1/jobs/9/cancel").status == 404)
            #expect(try await curl("-X", "POST", "/v1/jobs/1/retry?dependents=true").status == 201)
            #expect(try await curl("-X", "POST", "/v1/graphs/2/cancel").body.contains(#""job":3"#))
            #expect(try await curl("/v1/graphs/2/events").body.hasSuffix("{\"event\":\"final\"}\n"))
            #expect(try await curl("-X", "POST", "/v1/reload").status == 200)
            #expect(try await curl("/v1/status").body.contains(#""state":"running","pid":42"#))
            let prune = try await curl("--json", #"{"finished_before":"2100-01-01T00:00:00Z"}"#, "/v1/prune")
            #expect(prune.body.contains(#"{"deleted":4,"#))
        }
    }

    @Test func jobsAreCancelledTogether() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            _ = try await curl("--json", #"{"definition":"chain","input":{"text":"a"}}"#, "/v1/jobs")
            let answer = try await curl("--json", #"{"jobs":[1,9,2,1]}"#, "/v1/jobs/cancel")
            #expect(answer.status == 200)
            #expect(
                answer.body
                    == #"[{"job":1,"result":"cancelled"},{"job":9,"result":"unknown"},{"job":2,"result":"cancelled"},{"job":1,"result":"already_final","outcome":"cancelled"}]"#
                    + "\n")
            #expect(try await curl("--json", #"{"jobs":[]}"#, "/v1/jobs/cancel").body == "[]\n")
            let most = (1...CancelRequest.maxJobs).map(String.init).joined(separator: ",")
            #expect(try await curl("--json", "{\"jobs\":[\(most)]}", "/v1/jobs/cancel").status == 200)
            let tooMany = try await curl("--json", "{\"jobs\":[\(most),1]}", "/v1/jobs/cancel")
            #expect(tooMany.status == 400 && tooMany.body.contains("the limit is 10000"), "\(tooMany.body)")
            let wrong = try await curl("/v1/jobs/cancel")
            #expect(wrong.status == 405 && wrong.body.contains("takes POST, not GET"), "\(wrong.body)")
        }
    }

    @Test func largeBodyIsTakenWithExpect() async throws {
        try await TestServer.with { server in
            let jobs = (0..<20_000).map { #"{"node":"n\#($0)","definition":"echo","input":{"text":"a"}}"# }
            let file = server.directory + "/graph.json"
            try Data("{\"name\":\"wide\",\"jobs\":[\(jobs.joined(separator: ","))]}".utf8)
                .write(to: URL(fileURLWithPath: file))
            let answer = try await Curl(socket: server.socket)(
                "-H", "Expect: 100-continue", "--json", "@\(file)", "/v1/jobs")
            #expect(answer.status == 201)
            #expect(try await server.client.graphs(limit: 1, before: nil).first?.counts.total == 20_000)
        }
    }
}
