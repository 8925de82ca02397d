import Client
import Control
import Foundation
import Jobs
import Logging
import ServiceLifecycle
import Testing

@testable import API

/// A server that is told to stop, in a service group as in the daemon.
@Suite struct ShutdownTests {
    /// A second server over the same control, in a group of its own.
    private func withGroup(
        _ server: TestServer, limits: ServerLimits = ServerLimits(),
        _ body: @Sendable (_ path: String, _ group: ServiceGroup) async throws -> Void
    ) async throws {
        let path = server.directory + "/group.sock"
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let second = ControlServer(
            control: server.control, socket: try ControlSocket(path: path), limits: limits, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [second], logger: logger))
        let running = Task { try await group.run() }
        do {
            try await body(path, group)
        } catch {
            running.cancel()
            throw error
        }
        // Ends only when the server has ended.
        try await running.value
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func requestInFlightIsAnsweredAndNothingNewIsAccepted() async throws {
        try await TestServer.with { server in
            // On a busy machine ten seconds may pass between two lines.
            try await withGroup(server, limits: ServerLimits(drain: .seconds(120))) { path, group in
                let idle = try RawPeer(path)
                let peer = try RawPeer(path)
                let body = #"{"definition":"echo","input":{"text":"a"}}"#
                try peer.send(
                    "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                )
                #expect(try await peer.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100"))
                await group.triggerGracefulShutdown()
                #expect(try await idle.readToEnd().isEmpty)
                try peer.send(body)
                let answer = try await peer.readToEnd()
                #expect(answer.hasPrefix("HTTP/1.1 201"))
            }
            #expect(try await server.client.status().counts.total == 1)
        }
    }

    /// An upgrade restarts the daemon while callers are on their way.
    @Test func requestThatArrivesJustAfterTheStopIsAnswered() async throws {
        try await TestServer.with { server in
            let limits = ServerLimits(arrival: .seconds(120), drain: .seconds(120))
            try await withGroup(server, limits: limits) { path, group in
                let peer = try RawPeer(path)
                // The first answer shows that the connection was accepted; the second request is the late one.
                try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await peer.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
                await group.triggerGracefulShutdown()
                // The listener is closed by the same stop.
                while (try? RawPeer(path)) != nil {}
                try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(try await peer.readToEnd().contains("HTTP/1.1 200"))
            }
        }
    }

    /// Many thousands of jobs take long to delete; a stop ends that between two small transactions.
    @Test func pruningEndsWithTheServer() async throws {
        try await TestServer.with { server in
            let jobs = Array(repeating: Submission.echo("a"), count: 5000)
            _ = try await server.control.enqueue(jobs)
            try await server.runAll()
            try await withGroup(server, limits: ServerLimits(drain: .seconds(120))) { path, group in
                let peer = try RawPeer(path)
                let body = #"{"finished_before":"2100-01-01T00:00:00.000Z"}"#
                try peer.send(
                    "POST /v1/prune HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                )
                #expect(try await peer.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100"))
                await group.triggerGracefulShutdown()
                // The listener is closed by the same stop.
                while (try? RawPeer(path)) != nil {}
                try peer.send(body)
                #expect(try await peer.readToEnd().hasPrefix("HTTP/1.1 503"))
            }
            #expect(try await server.client.status().counts.total > 0)
        }
    }

    @Test func whatWaitsLongIsToldAtOnce() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            try await withGroup(server) { path, group in
                let client = SocketControl(path: path)
                async let waiting = client.result(id, waiting: .seconds(3600))
                var events = try await client.watch(.job(id)).makeAsyncIterator()
                _ = try await events.next()
                await server.reports.waitForObservers(2)
                await group.triggerGracefulShutdown()
                let streamed = await #expect(throws: ControlProblem.self) { try await events.next() }
                #expect(streamed?.code == .unavailable)
                do {
                    _ = try await waiting
                    Issue.record("the wait ended with success")
                } catch {
                    #expect((error as? ControlProblem)?.code == .unavailable)
                }
            }
        }
    }

    /// A race, so several times.
    @Test(arguments: 1...10) func whatEndsJustBeforeTheStopIsTold(round: Int) async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            try await withGroup(server) { path, group in
                var events = try await SocketControl(path: path).watch(.job(id)).makeAsyncIterator()
                _ = try await events.next()
                let claimed = try await server.claim()
                try await server.finish(claimed[0].lease, .succeeded(json("{}")))
                await group.triggerGracefulShutdown()
                var last: WatchEvent?
                while let event = try await events.next() { last = event }
                #expect(last == .final)
            }
        }
    }

    @Test func callerThatNeverEndsIsCutOff() async throws {
        try await TestServer.with { server in
            try await withGroup(server, limits: ServerLimits(drain: .milliseconds(50))) { path, group in
                let peer = try RawPeer(path)
                try peer.send("POST /v1/spool HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
                _ = try await peer.read(until: "\r\n\r\n")
                await group.triggerGracefulShutdown()
                _ = try await peer.readToEnd()
            }
        }
    }
}
