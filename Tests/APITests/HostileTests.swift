import Client
import ControlProtocol
import Foundation
import Jobs
import SQLiteStore
import StoreControl
import Testing

@testable import API

/// Callers with invalid requests, slow callers, and callers that disconnect.
@Suite struct HostileTests {
    private func problem(_ answer: Curl.Answer) throws -> ControlProblem {
        #expect(answer.type == "application/problem+json")
        return try ControlProblem(json: JSONText(checking: Array(answer.body.utf8)))
    }

    @Test(arguments: [
        (#"{"definition":"echo","input":{"text":"a","text":"b"}}"#, "the name \"text\" occurs twice"),
        (#"{"definition":"echo","input":{"text":"\u0000"}}"#, "U+0000"),
        ("{\"definition\":\"echo\"", "invalid JSON at byte 20"),
        ("", "invalid JSON at byte 0"),
        ("[]", "expected an object"),
        (#"{"definition":"echo","queu":"a"}"#, "did you mean \"queue\"?"),
    ])
    func badBodyIsRefusedWithItsReason(body: String, reason: String) async throws {
        try await TestServer.with { server in
            let answer = try await Curl(socket: server.socket)("--data-binary", "@-", "/v1/jobs", input: body)
            #expect(answer.status == 400)
            let problem = try problem(answer)
            #expect(problem.code == .invalidRequest)
            #expect(problem.message.contains(reason), "\(problem.message)")
            #expect(try await server.client.status().counts.total == 0)
        }
    }

    @Test func bodyThatIsTooLargeIsRefusedBeforeItsEnd() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            let body = String(repeating: " ", count: 2 << 20)
            let announced = try await curl("-X", "POST", "--data-binary", "@-", "/v1/prune", input: body)
            #expect(announced.status == 413)
            #expect(try problem(announced).code == .tooLarge)
            let chunked = try await curl(
                "-X", "POST", "-H", "Transfer-Encoding: chunked", "--data-binary", "@-", "/v1/prune", input: body)
            #expect(chunked.status == 413)
            #expect(try await server.client.status().state == .running)
        }
    }

    /// Some callers read the response only after they have sent the whole body.
    @Test(arguments: ["Content-Length: 4194304\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n400000\r\n"])
    func refusalIsReadByACallerThatSendsFirst(framing: String) async throws {
        try await TestServer.with(limits: ServerLimits(linger: .seconds(60))) { server in
            let peer = try RawPeer(server.socket)
            try peer.send("POST /v1/prune HTTP/1.1\r\nHost: a\r\n" + framing)
            try await peer.sendLong(String(repeating: " ", count: 4 << 20))
            peer.halfClose()
            #expect(try await peer.readToEnd().hasPrefix("HTTP/1.1 413"))
        }
    }

    @Test func nothingAfterARefusedBodyIsCarriedOut() async throws {
        try await TestServer.with(limits: ServerLimits(linger: .seconds(60))) { server in
            let peer = try RawPeer(server.socket)
            let body = String(repeating: " ", count: 2 << 20)
            try await peer.sendLong(
                "POST /v1/prune HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body)
            #expect(try await peer.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 413"))
            let job = #"{"definition":"echo","input":{"text":"a"}}"#
            let request = "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: \(job.utf8.count)\r\n\r\n" + job
            // The server closes the connection when it reads the first of these requests, so it has seen that request.
            await #expect(throws: TestFailure.self) {
                for _ in 1...100_000 { try await peer.sendLong(request) }
            }
            #expect(try await server.client.status().counts.total == 0)
        }
    }

    @Test func callerThatNeverStopsSendingIsCutOff() async throws {
        try await TestServer.with(limits: ServerLimits(linger: .milliseconds(50))) { server in
            let peer = try RawPeer(server.socket)
            try peer.send("POST /v1/prune HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n")
            await #expect(throws: TestFailure.self) {
                while true { try await peer.sendLong(String(repeating: " ", count: 1 << 20)) }
            }
        }
    }

    @Test func deepBodyIsRefused() async throws {
        try await badBodyIsRefusedWithItsReason(
            body: String(repeating: "[", count: 100_000), reason: "nested deeper")
    }

    @Test func unknownPathAndMethodAreProblems() async throws {
        try await TestServer.with { server in
            let curl = Curl(socket: server.socket)
            let path = try await curl("/v1/job")
            #expect(path.status == 404)
            #expect(try problem(path).code == .notFound)
            let method = try await curl("-i", "-X", "DELETE", "/v1/jobs/1")
            #expect(method.status == 405)
            #expect(method.body.lowercased().contains("allow: get\r\n"))
            let head = try await curl("--head", "/v1/status")
            #expect(head.status == 405)
            let number = try await curl("/v1/jobs/one")
            #expect(number.status == 400)
            #expect(try problem(number).message.contains("\"one\" is not a job number"))
            let escape = try await curl("/v1/queues/%+f")
            #expect(try problem(escape).message.contains("\"%+f\""))
            let query = try await curl("/v1/jobs?sate=ready")
            #expect(query.status == 400)
            #expect(try problem(query).message.contains("did you mean \"state\"?"))
        }
    }

    @Test func connectionThatSendsNothingIsClosed() async throws {
        try await TestServer.with(limits: ServerLimits(idle: .milliseconds(50))) { server in
            for opening in ["", "GET /v1/sta", "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n{"] {
                let peer = try RawPeer(server.socket)
                try peer.send(opening)
                // Returns when the server closes the connection.
                _ = try await peer.readToEnd()
            }
        }
    }

    @Test func bodyThatTricklesIsRefusedInTime() async throws {
        try await TestServer.with(limits: ServerLimits(body: .milliseconds(100))) { server in
            let peer = try RawPeer(server.socket)
            try peer.send("POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{")
            let answer = try await peer.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 400"))
            #expect(answer.contains("was not complete within 100ms"))
        }
    }

    @Test func peerThatGoesInTheMiddleOfABodyLeavesNothing() async throws {
        try await TestServer.with { server in
            for body in [
                "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{\"definition\":\"echo\"",
                "POST /v1/spool HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf a file",
            ] {
                let peer = try RawPeer(server.socket)
                try peer.send(body)
                peer.halfClose()
                _ = try await peer.readToEnd()
            }
            #expect(try await server.client.status().counts.total == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.spool).isEmpty)
        }
    }

    @Test func halfOpenConnectionsDoNotKeepOthersOut() async throws {
        try await TestServer.with(limits: ServerLimits(connections: 4, idle: .seconds(2))) { server in
            let peers = try (0..<8).map { _ in try RawPeer(server.socket) }
            // The first four connections fill the server; each later one replaces one of them or is closed at the idle
            // limit.
            #expect(try await server.client.status().state == .running)
            for peer in peers { _ = try await peer.readToEnd() }
        }
    }

    @Test func peerThatIsNotAllowedIsToldSo() async throws {
        let isAllowed: ControlServer.PeerCheck = { $0.uid != getuid() }
        try await TestServer.with(isAllowed: isAllowed) { server in
            let error = await #expect(throws: ControlProblem.self) { try await server.client.status() }
            #expect(error?.code == .permission)
        }
    }

    @Test func headersWithoutEndAreRefused() async throws {
        try await TestServer.with { server in
            let peer = try RawPeer(server.socket)
            try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\n")
            for index in 0..<2000 where (try? peer.send("X-\(index): \(String(repeating: "y", count: 100))\r\n")) == nil
            {
                break
            }
            let answer = try await peer.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 431 "), "\(answer)")
            #expect(
                answer.contains("the limits are 100 header fields, 16 KiB for each and 32 KiB together"), "\(answer)")
        }
    }

    @Test(arguments: [17 << 10, 90 << 10])
    func addressThatIsTooLongIsRefusedWithItsLimit(bytes: Int) async throws {
        try await TestServer.with { server in
            let config = "url = \"http://localhost/v1/jobs?queue=\(String(repeating: "a", count: bytes))\"\n"
            let answer = try await Curl(socket: server.socket)("--config", "-", input: config)
            #expect(answer.status == 414)
            let problem = try problem(answer)
            #expect(problem.code == .addressTooLong)
            #expect(problem.message.contains("16 KiB"), "\(problem.message)")
            // The limit also applies to a later request on the connection.
            let peer = try RawPeer(server.socket)
            try peer.send("GET /v1/queues HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await peer.read(until: "]")
            try? peer.send("GET /\(String(repeating: "a", count: 17 << 10)) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await peer.readToEnd().contains("HTTP/1.1 414 "))
        }
    }

    @Test func requestOfAnotherProtocolIsRefusedWithAReason() async throws {
        try await TestServer.with { server in
            let peer = try RawPeer(server.socket)
            try peer.send("EHLO a\r\n\r\n")
            let answer = try await peer.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
            #expect(answer.contains("The request is not HTTP/1.1."), "\(answer)")
        }
    }

    /// The second request is unread input, which hides the end of the connection from a server that looks for it there.
    @Test(.timeLimit(.minutes(2)), arguments: ["/v1/events", "/v1/jobs/1/events", "/v1/jobs/1/result?wait=1h"])
    func nothingGoesOnForACallerThatAskedAgainAndWent(path: String) async throws {
        try await TestServer.with { server in
            _ = try await server.enqueue(.echo("a"))
            let peer = try RawPeer(server.socket)
            try peer.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n")
            await server.reports.waitForObservers(1)
            peer.hangUp()
            await server.reports.waitForObservers(0)
        }
    }

    @Test func oneUserDoesNotTakeAllConnections() async throws {
        try await TestServer.with(limits: ServerLimits(connections: 8), unlimitedUsers: []) { server in
            let curl = Curl(socket: server.socket)
            let first = try RawPeer(server.socket)
            let second = try RawPeer(server.socket)
            for peer in [first, second] {
                try peer.send("GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n")
                _ = try await peer.read(until: "\r\n")
            }
            let answer = try await curl("/v1/status")
            #expect(answer.status == 503)
            #expect(try problem(answer).message.contains("has reached the limit of connections"))
            // A connection over the limit that sends no request is closed, too.
            _ = try await RawPeer(server.socket).readToEnd()
            first.hangUp()
            await server.reports.waitForObservers(1)
            // The server counts the connection until it is closed, slightly after its request has ended.
            while try await curl("/v1/status").status == 503 {}
        }
    }

    @Test func fewLargeAnswersOfOneUserWaitForTheirReaders() async throws {
        try await TestServer.with(limits: ServerLimits(answerBytes: 3 << 20)) { server in
            let curl = Curl(socket: server.socket)
            let peers = try await server.leaveLargeAnswersUnread(2)
            let refused = try await curl("/v1/jobs")
            #expect(refused.status == 503)
            #expect(try problem(refused).message.hasPrefix("Other callers are still reading large responses."))
            #expect(try await curl("/v1/queues").status == 200)
            #expect(try await peers[0].readToEnd().utf8.count > 1_600_000)
            #expect(try await curl("/v1/jobs").status == 200)
        }
    }

    @Test func definitionsAndSchedulesMayBeLargeAnswersToo() async throws {
        try await TestServer.with(limits: ServerLimits(answerBytes: 3 << 20)) { server in
            let curl = Curl(socket: server.socket)
            let input = "{text: \(String(repeating: "x", count: 600_000))}"
            let things = ["a", "b"].map { "  \($0): {DOES: echo, TIMES input: \(input)}\n" }.joined()
            func section(_ kind: String, _ times: String) -> String {
                things.replacingOccurrences(of: "DOES", with: kind).replacingOccurrences(of: "TIMES", with: times)
            }
            let document =
                "definitions:\n" + section("kind", "") + "schedules:\n" + section("definition", "calendar: hourly,")
            let applied = try await curl("--request", "PUT", "--data-binary", "@-", "/v1/definitions", input: document)
            #expect(applied.status == 200, "\(applied.body)")
            for path in ["/v1/definitions", "/v1/schedules"] {
                #expect(try await curl(path).body.utf8.count > 1_200_000)
            }
            let exported = try await curl("/v1/definitions?format=yaml").body
            #expect(try await server.control.exportDefinitions() == exported)
            let peers = try await server.leaveLargeAnswersUnread(2)
            for path in ["/v1/definitions", "/v1/definitions?format=yaml", "/v1/schedules"] {
                #expect(try await curl(path).status == 503)
            }
            for peer in peers { #expect(try await peer.readToEnd().utf8.count > 1_600_000) }
        }
    }

    /// The server stops producing the response soon after the socket's buffer is full.
    @Test(.timeLimit(.minutes(2))) func callerThatDoesNotReadIsDisconnected() async throws {
        try await TestServer.with(limits: ServerLimits(reading: .seconds(2))) { server in
            _ = try await server.control.enqueue(Array(repeating: .echo("a"), count: 10_000))
            let peers = try await RawPeer.connect(
                40, to: server.socket, sending: "GET /v1/jobs?limit=10000 HTTP/1.1\r\nHost: a\r\n\r\n")
            for peer in peers {
                await peer.waitForHangUp()
                let answer = try await peer.readToEnd()
                #expect(answer.hasPrefix("HTTP/1.1 200"))
                #expect(answer.utf8.count < 1 << 20)
                #expect(!answer.hasSuffix("0\r\n\r\n"))
            }
            #expect(try await server.client.jobs(JobFilter(limit: 10_000)).count == 10_000)
        }
    }

    /// The connections of one user do not keep other callers out, regardless of their number and age.
    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func halfOpenConnectionsGiveWay(isUnlimited: Bool) async throws {
        try await TestServer.with(
            limits: ServerLimits(idle: .seconds(3600)), unlimitedUsers: isUnlimited ? [getuid()] : []
        ) { server in
            let peers = try await RawPeer.connect(641, to: server.socket, sending: "GET /v1/sta")
            #expect(try await SocketControl(path: server.socket).status().state == .running)
            withExtendedLifetime(peers) {}
        }
    }

    /// A large body stays in memory until its request is completed.
    @Test(.timeLimit(.minutes(2))) func fewLargeBodiesAreCarriedOutAtOnce() async throws {
        try await TestServer.with { server in
            let (isHeld, told) = (DispatchSemaphore(value: 0), AsyncStream<Void>.makeStream())
            let observation = server.store.observe { change in
                guard case .jobs = change else { return }
                told.continuation.yield()
                isHeld.wait()
            }
            defer {
                observation.cancel()
                for _ in 0..<3 { isHeld.signal() }
            }
            let job = #"{"definition":"echo","input":{"text":""# + String(repeating: "x", count: 800_000) + #""}}"#
            let body = "{\"jobs\":[\(job),\(job)]}"
            let curl = Curl(socket: server.socket)
            async let first = curl("--data-binary", "@-", "/v1/jobs", input: body)
            for await _ in told.stream { break }
            // The first request is stored, but its response is held back. Of two further requests, one exceeds the
            // limit.
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<2 {
                    group.addTask { try await curl("--data-binary", "@-", "/v1/jobs", input: body).status }
                }
                let one = try await group.next()
                #expect(one == 503)
                for _ in 0..<2 { isHeld.signal() }
                let other = try await group.next()
                #expect(other == 201)
            }
            #expect(try await first.status == 201)
        }
    }
}

extension TestServer {
    /// Connects peers that request more than 1 MiB each and read only the first line of the response.
    fileprivate func leaveLargeAnswersUnread(_ count: Int) async throws -> [RawPeer] {
        let text = String(repeating: "x", count: 800_000)
        for _ in 0..<2 { _ = try await enqueue(.echo(text)) }
        let peers = try (0..<count).map { _ in try RawPeer(socket) }
        for peer in peers {
            try peer.send("GET /v1/jobs HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            // The server is now writing the response and waits for the peer to read.
            #expect(try await peer.read(until: "\r\n").hasPrefix("HTTP/1.1 200"))
        }
        return peers
    }
}
