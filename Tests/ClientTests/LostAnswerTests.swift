import Client
import ControlProtocol
import Foundation
import Jobs
import Synchronization
import Testing

/// A daemon that restarts or crashes may close a connection before it responds.
@Suite struct LostAnswerTests {
    /// Reads one request per connection and sends the given response; nil closes the connection without one.
    private final class Daemon: Sendable {
        private let daemon: RawDaemon
        private let received: Received

        private final class Received: Sendable {
            let requests = Mutex<[String]>([])
        }

        var path: String { daemon.path }
        var requests: [String] { received.requests.withLock(\.self) }

        init(_ answer: @escaping @Sendable (_ number: Int) -> String?) throws {
            let received = Received()
            self.received = received
            daemon = try RawDaemon { connection in
                let request = Self.read(connection)
                let number = received.requests.withLock { requests in
                    requests.append(request)
                    return requests.count
                }
                guard let text = answer(number) else { return }
                // A truncated response announces more bytes than it contains.
                let length = text.utf8.count + (text.hasSuffix("\ncut") ? 100 : 0)
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(length)\r\n\r\n"
                RawDaemon.write(head + text, to: connection)
            }
        }

        /// Returns the body of one request.
        private static func read(_ connection: CInt) -> String {
            var text = ""
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(connection, &buffer, buffer.count, 0)
                if count <= 0 { return "" }
                text += String(decoding: buffer[..<count], as: UTF8.self)
                guard let end = text.range(of: "\r\n\r\n") else { continue }
                let body = text[end.upperBound...]
                if text.contains("chunked") {
                    if body.hasSuffix("0\r\n\r\n") { return String(body) }
                } else {
                    let length = text.range(of: "Content-Length: ").map {
                        text[$0.upperBound...].prefix(while: \.isNumber)
                    }
                    if body.utf8.count >= length.flatMap({ Int($0) }) ?? 0 { return String(body) }
                }
            }
        }
    }

    private static let duplicate = #"{"status":"duplicate","jobs":[7]}"#

    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func anEnqueueWithoutAKeyIsSentAgainWithTheSameGeneratedKey(way: Way) async throws {
        let daemon = try Daemon { $0 < 3 ? nil : Self.duplicate }
        let submission = Submission(.definition("visit"), input: JSONText(trusted: Array("{}".utf8)))
        let answers = try await way.run { try await SocketControl(path: daemon.path).enqueue([submission]) }
        guard case .enqueued(let receipt)? = answers.first else {
            Issue.record("\(answers)")
            return
        }
        #expect(receipt.jobs == [JobID(7)])
        #expect(daemon.requests.count == 3)
        #expect(Set(daemon.requests).count == 1)
        #expect(daemon.requests[0].contains(#""key":"halyard-"#))
        // Another request gets another key.
        _ = try await way.run { try await SocketControl(path: daemon.path).enqueue([submission]) }
        #expect(Set(daemon.requests).count == 2)
    }

    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func aCallersOwnKeyIsKeptAndItsRepetitionReported(way: Way) async throws {
        let daemon = try Daemon { $0 < 2 ? nil : Self.duplicate }
        let submission = Submission(.definition("visit"), input: JSONText(trusted: Array("{}".utf8)), key: "mine")
        let answers = try await way.run { try await SocketControl(path: daemon.path).enqueue([submission]) }
        guard case .duplicate? = answers.first else {
            Issue.record("not reported as a duplicate")
            return
        }
        #expect(daemon.requests.allSatisfy { $0.contains(#""key":"mine""#) })
    }

    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func linesWithKeysThatGotNoAnswerAreSentAgain(way: Way) async throws {
        let daemon = try Daemon { number in
            switch number {
            case 1: Self.duplicate + "\ncut"
            case 2: nil
            default: Self.duplicate + "\n" + Self.duplicate + "\n"
            }
        }
        let submissions = ["a", "b", "c"].map {
            Submission(.definition("visit"), input: JSONText(trusted: Array("{}".utf8)), key: $0)
        }
        let answers = try await way.run { try await SocketControl(path: daemon.path).enqueue(submissions) }
        #expect(answers.count == 3)
        for answer in answers {
            guard case .duplicate = answer else {
                Issue.record("\(answers)")
                return
            }
        }
    }

    /// Null is not a key, so repeating the line would execute it twice.
    @Test(.timeLimit(.minutes(1)), arguments: [#""key":null"#, #""priority":"high""#], Way.allCases)
    func linesWithoutAKeyAreSentOnce(field: String, way: Way) async throws {
        let daemon = try Daemon { _ in nil }
        let line = JSONText(trusted: Array("{\"definition\":\"visit\",\(field)}".utf8))
        for answer in try await way.run({ try await SocketControl(path: daemon.path).enqueue(json: [line, line]) }) {
            guard case .refused(let problem) = answer, problem.code == .unknownOutcome else {
                Issue.record("\(answer)")
                return
            }
        }
        #expect(daemon.requests.count == 1)
    }

    private final class SharedPath: Sendable {
        let path = Mutex("")
    }

    /// The request may have been stored even if no daemon listens any more.
    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func aLostAnswerStaysUnknownWhenTheDaemonIsGone(way: Way) async throws {
        let shared = SharedPath()
        let daemon = try Daemon { _ in
            unlink(shared.path.withLock(\.self))
            return nil
        }
        shared.path.withLock { $0 = daemon.path }
        let submission = Submission(.definition("visit"), input: JSONText(trusted: Array("{}".utf8)))
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: daemon.path).enqueue([submission]) }
        }
        #expect(error?.code == .unknownOutcome && error?.message.contains("may or may not") == true)
        #expect(daemon.requests.count == 1)
    }

    /// Repeating such a call could execute it twice.
    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func anUnrepeatableCallIsSentOnce(way: Way) async throws {
        let daemon = try Daemon { _ in nil }
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: daemon.path).run(schedule: "nightly") }
        }
        #expect(error?.code == .unknownOutcome)
        #expect(daemon.requests.count == 1)
    }

    /// A request that crashes every daemon must not be repeated forever.
    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func aRequestIsGivenUpAfterSomeTries(way: Way) async throws {
        let daemon = try Daemon { _ in nil }
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: daemon.path).status() }
        }
        #expect(error?.code == .unavailable)
        #expect(daemon.requests.count == 4)
    }
}
