import Client
import ControlProtocol
import Foundation
import Jobs
import Synchronization
import Testing

/// Exchanges with a daemon that behaves unusually, on an event loop and on a blocked thread.
@Suite struct ExchangeTests {
    private static let head = "HTTP/1.1 200 OK\r\n"

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            head + "Content-Length: 2\r\n\r\n[]",
            "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + head + "content-length:2\r\n\r\n[]",
            head + "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n[\r\n1\r\n]\r\n0\r\nA: b\r\n\r\n",
            head + "Connection: close\r\n\r\n[]",
        ], Way.allCases)
    func everyFormOfAResponseIsReadAlsoByteByByte(response: String, way: Way) async throws {
        let daemon = try RawDaemon { connection in
            guard RawDaemon.readHead(connection) else { return }
            for byte in response.utf8 { RawDaemon.write(String(Unicode.Scalar(byte)), to: connection) }
        }
        #expect(try await way.run { try await SocketControl(path: daemon.path).queues() }.isEmpty)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "[]\r\n\r\n",
            head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n[]",
            head + "Content-Length: -2\r\n\r\n[]", head + "Content-Length: 3\r\n\r\n[]",
            head + "Content-Length : 2\r\n\r\n[]",
            head + "Transfer-Encoding: chunked\r\n\r\nx\r\n[]\r\n0\r\n\r\n",
            head + "Transfer-Encoding: chunked\r\n\r\n2\r\n[]",
            head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
        ], Way.allCases)
    func aResponseThatIsWrongOrCutIsALostAnswer(response: String, way: Way) async throws {
        let daemon = try RawDaemon { connection in
            if RawDaemon.readHead(connection) { RawDaemon.write(response, to: connection) }
        }
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: daemon.path).queues() }
        }
        #expect(error?.code == .unavailable && error?.message.contains("before it answered") == true)
    }

    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func aConnectionIsUsedAgainUntilTheDaemonClosesIt(way: Way) async throws {
        let connections = Mutex(0)
        let daemon = try RawDaemon { connection in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            // The first connection closes after two responses; the client notices it at the next request at the latest.
            for _ in 0..<(number == 1 ? 2 : 9) {
                guard RawDaemon.readHead(connection) else { return }
                RawDaemon.write(Self.head + "Content-Length: 2\r\n\r\n[]", to: connection)
            }
        }
        let isEmpty = try await way.run {
            let control = SocketControl(path: daemon.path)
            for _ in 0..<4 { _ = try await control.queues() }
            return try await control.queues().isEmpty
        }
        #expect(isEmpty)
        #expect(connections.withLock(\.self) == 2)
    }

    /// The request does not fit into the socket's buffer, so the client is still sending when the response arrives.
    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func anAnswerBeforeTheRequestIsReadIsTaken(way: Way) async throws {
        let problem = #"{"type":"urn:halyard:problem:too-large","title":"x","status":413,"detail":"Too much."}"#
        let daemon = try RawDaemon { connection in
            guard RawDaemon.readHead(connection) else { return }
            RawDaemon.write(
                "HTTP/1.1 413 X\r\nConnection: close\r\nContent-Length: \(problem.utf8.count)\r\n\r\n\(problem)",
                to: connection)
            // Waits until the client has seen the response and closes the connection.
            var poller = pollfd(fd: connection, events: 0, revents: 0)
            poll(&poller, 1, -1)
        }
        let document = String(repeating: "a", count: 4 << 20)
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run { try await SocketControl(path: daemon.path).apply(document, dryRun: true) }
        }
        #expect(error?.code == .tooLarge)
    }

    @Test(.timeLimit(.minutes(1)), arguments: Way.allCases)
    func aSilentDaemonIsGivenUp(way: Way) async throws {
        let daemon = try RawDaemon { connection in while RawDaemon.readHead(connection) {} }
        let error = await #expect(throws: ControlProblem.self) {
            try await way.run {
                try await SocketControl(path: daemon.path, timeout: .milliseconds(100)).run(schedule: "nightly")
            }
        }
        #expect(error?.code == .unknownOutcome && error?.message.contains("in time") == true)
    }

    /// A stream makes the thread an event loop; later exchanges must not block the stream.
    @Test(.timeLimit(.minutes(1)))
    func exchangesBeforeDuringAndAfterAStreamAreAnswered() async throws {
        let daemon = try RawDaemon { connection in
            while RawDaemon.readHead(connection) {
                RawDaemon.write(Self.head + "Content-Length: 2\r\n\r\n[]", to: connection)
            }
        }
        let stream = try RawDaemon { connection in
            guard RawDaemon.readHead(connection) else { return }
            RawDaemon.write(Self.head + "\r\n" + #"{"event":"missed"}"# + "\n", to: connection)
            // The client reads the rest after its other exchange.
            var byte: UInt8 = 0
            _ = recv(connection, &byte, 1, 0)
        }
        let events = try await Way.threadLoop.run {
            let control = SocketControl(path: daemon.path)
            _ = try await control.queues()
            async let early = control.queues()
            var events = try await SocketControl(path: stream.path).watch(.all).makeAsyncIterator()
            let first = try await events.next()
            _ = try await (control.queues(), early)
            return first
        }
        #expect(events == .missed)
    }
}
