import Client
import ControlProtocol
import Foundation
import Jobs
import Logging
import OperationTypes
import ServiceLifecycle
import StoreControl
import Synchronization
import Testing

@testable import API

/// A server that shuts down gracefully in a service group, as in the daemon.
@Suite struct ShutdownTests {
    private final class Tally: Sendable {
        private let value = Atomic<Int>(0)
        var count: Int { value.load(ordering: .relaxed) }
        func add() { value.add(1, ordering: .relaxed) }
    }

    /// Runs `body` with a second server over the same control, in its own group.
    private func withGroup(
        _ server: TestServer, _ control: (any JobControl)? = nil, limits: ServerLimits = ServerLimits(),
        _ body: @Sendable (_ path: String, _ group: ServiceGroup) async throws -> Void
    ) async throws {
        let path = server.directory + "/group.sock"
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let second = ControlServer(
            control: control ?? server.control, socket: try ControlSocket(path: path), limits: limits, logger: logger)
        let group = ServiceGroup(configuration: .init(services: [second], logger: logger))
        let running = Task { try await group.run() }
        do {
            try await body(path, group)
        } catch {
            running.cancel()
            throw error
        }
        // Returns only when the server has ended.
        try await running.value
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func requestInFlightIsAnsweredAndNothingNewIsAccepted() async throws {
        try await TestServer.with { server in
            // More than ten seconds may pass between two lines on a busy machine.
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

    /// An upgrade restarts the daemon while callers send requests.
    @Test func requestThatArrivesJustAfterTheStopIsAnswered() async throws {
        try await TestServer.with { server in
            let limits = ServerLimits(arrival: .seconds(120), drain: .seconds(120))
            try await withGroup(server, limits: limits) { path, group in
                let peer = try RawPeer(path)
                // The first response shows that the connection was accepted; the second request is the late one.
                try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await peer.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
                await group.triggerGracefulShutdown()
                // The same shutdown closes the listener.
                await RawPeer.waitUntilNobodyListens(path)
                try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(try await peer.readToEnd().contains("HTTP/1.1 200"))
            }
        }
    }

    /// The caller has connected, but is waiting for CPU time before it sends.
    @Test func firstRequestThatArrivesLongAfterTheStopIsAnswered() async throws {
        try await TestServer.with { server in
            let limits = ServerLimits(arrival: .zero, firstArrival: .seconds(120), drain: .seconds(120))
            try await withGroup(server, limits: limits) { path, group in
                let peer = try RawPeer(path)
                let second = try RawPeer(path)
                // Connections are accepted in order, so this response shows that the first one was accepted.
                try second.send("GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(try await second.readToEnd().contains("HTTP/1.1 200"))
                await group.triggerGracefulShutdown()
                await RawPeer.waitUntilNobodyListens(path)
                try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                #expect(try await peer.readToEnd().contains("HTTP/1.1 200"))
            }
        }
    }

    /// Servers follow one another on one socket, as with systemd's socket activation. The callers never retry.
    @Test(.timeLimit(.minutes(3))) func restartsRefuseNoCaller() async throws {
        try await TestServer.with { server in
            let path = server.directory + "/passed.sock"
            let passed = try ControlSocket(path: path, backlog: 512)
            defer { passed.close() }
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            let isOver = StopSignal()
            let answered = Tally()
            try await withThrowingTaskGroup(of: Void.self) { callers in
                for _ in 1...8 {
                    callers.addTask {
                        while !isOver.isOpen {
                            let peer = try RawPeer(path)
                            try peer.send("GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                            let answer = try await peer.readToEnd()
                            guard answer.hasPrefix("HTTP/1.1 200") else { throw TestFailure("answer: \(answer)") }
                            answered.add()
                        }
                    }
                }
                for _ in 1...60 {
                    let before = answered.count
                    let next = ControlServer(
                        control: server.control, socket: ControlSocket(passed: dup(passed.descriptor)), logger: logger)
                    let group = ServiceGroup(configuration: .init(services: [next], logger: logger))
                    let running = Task { try await group.run() }
                    while answered.count < before + 10 { await Task.yield() }
                    await group.triggerGracefulShutdown()
                    try await running.value
                }
                isOver.open()
                // Serves the last callers.
                let last = ControlServer(
                    control: server.control, socket: ControlSocket(passed: dup(passed.descriptor)), logger: logger)
                let running = Task { try await last.run() }
                try await callers.waitForAll()
                running.cancel()
                try await running.value
            }
        }
    }

    /// Pruning thousands of jobs takes long; the shutdown ends it between two small transactions.
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
                // The same shutdown closes the listener.
                await RawPeer.waitUntilNobodyListens(path)
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

    /// A control whose streams pause after `count` events until the server has read the final states.
    private func holdingBack(_ server: TestServer, after count: Int) -> PartialControl {
        let hasAsked = StopSignal()
        var control = PartialControl()
        control.watching = { scope throws(ControlProblem) in
            let events = try await server.control.watch(scope)
            return AsyncThrowingStream { told in
                let telling = Task {
                    var number = 0
                    do {
                        for try await event in events {
                            if number == count { await hasAsked.wait() }
                            number += 1
                            told.yield(event)
                        }
                        told.finish()
                    } catch {
                        told.finish(throwing: error)
                    }
                }
                told.onTermination = { _ in telling.cancel() }
            }
        }
        control.readingResult = { id throws(ControlProblem) in
            let result = try await server.control.result(id)
            hasAsked.open()
            return result
        }
        control.listingGraphs = { limit, before throws(ControlProblem) in
            let graphs = try await server.control.graphs(limit: limit, before: before)
            hasAsked.open()
            return graphs
        }
        return control
    }

    @Test func whatEndsJustBeforeTheStopIsTold() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            try await withGroup(server, holdingBack(server, after: 1)) { path, group in
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

    /// The shutdown sends no event twice, not even for a graph of 100,000 jobs, and reads only the graph's record for
    /// each watcher.
    @Test func onlyWhatWasNotToldIsToldAtTheStop() async throws {
        try await TestServer.with { server in
            let jobs = (0..<3).map { JobRequest(node: "n\($0)", definition: "echo", input: json(#"{"text":"a"}"#)) }
            // The graph `open` is newer than the watched graph.
            let receipt = try await server.enqueue(Submission(.jobs(jobs, name: "watched")))
            _ = try await server.enqueue(Submission(.jobs(jobs, name: "open")))
            let graph = try #require(receipt.graph)
            let claimed = try await server.claim().filter { receipt.jobs.contains($0.lease.job) }
            for job in claimed[...1] { try await server.finish(job.lease, .succeeded(json("{}"))) }
            try await withGroup(server, holdingBack(server, after: 3)) { path, group in
                var events = try await SocketControl(path: path).watch(.graph(graph)).makeAsyncIterator()
                for _ in 1...3 { _ = try await events.next() }
                try await server.finish(claimed[2].lease, .succeeded(json("{}")))
                await group.triggerGracefulShutdown()
                guard case .job(let job)? = try await events.next() else {
                    throw TestFailure("no event of the last job")
                }
                #expect(job.id == claimed[2].lease.job && job.state == .succeeded)
                #expect(try await events.next() == .final)
                #expect(try await events.next() == nil)
            }
        }
    }

    @Test func aWatcherIsToldOfTheStopAlsoWhereNothingCanBeRead() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            var control = PartialControl()
            control.watching = { scope throws(ControlProblem) in try await server.control.watch(scope) }
            try await withGroup(server, control) { path, group in
                var events = try await SocketControl(path: path).watch(.job(id)).makeAsyncIterator()
                _ = try await events.next()
                await group.triggerGracefulShutdown()
                let problem = await #expect(throws: ControlProblem.self) { try await events.next() }
                #expect(problem == .stopping)
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
