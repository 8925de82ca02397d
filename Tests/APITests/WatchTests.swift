import Client
import ControlProtocol
import Jobs
import OperationTypes
import Testing

@testable import API

/// Event streams over the socket.
@Suite struct WatchTests {
    @Test func watchOfAJobEndsWithItsResult() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            var events = try await server.client.watch(.job(id)).makeAsyncIterator()
            guard case .job(let first)? = try await events.next() else { throw TestFailure("no first event") }
            #expect(first.state == .ready)
            let claimed = try await server.claim()
            guard case .job(let second)? = try await events.next() else { throw TestFailure("no second event") }
            #expect(second.state == .running)
            let progress = OperationProgress(completed: 5, total: 10, unit: "bytes")
            server.reports.report(id, progress)
            #expect(try await events.next() == .progress(job: id, attempt: 1, progress))
            #expect(try await server.client.job(id).progress == progress)
            try await server.finish(claimed[0].lease, .succeeded(json("{}")))
            guard case .job(let last)? = try await events.next() else { throw TestFailure("no last event") }
            #expect(last.state == .succeeded)
            #expect(try await events.next() == .final)
            #expect(try await events.next() == nil)
        }
    }

    @Test func watchOfAFinalJobTellsItAndEnds() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            try await server.runAll()
            var events: [WatchEvent] = []
            for try await event in try await server.client.watch(.job(id)) { events.append(event) }
            #expect(events.count == 2)
            #expect(events.last == .final)
        }
    }

    @Test func watchOfAGraphTellsEachJobAndEndsWithTheLast() async throws {
        try await TestServer.with { server in
            let jobs = (0..<2500).map { JobRequest(node: "n\($0)", definition: "echo", input: json(#"{"text":"a"}"#)) }
            let receipt = try await server.enqueue(Submission(.jobs(jobs, name: "wide")))
            let events = try await server.client.watch(.graph(try #require(receipt.graph)))
            async let running: Void = server.runAll()
            var states: [JobID: JobState] = [:]
            var last: WatchEvent?
            for try await event in events {
                if case .job(let job) = event { states[job.id] = job.state }
                last = event
            }
            try await running
            #expect(last == .final)
            #expect(Set(states.keys) == Set(receipt.jobs))
            #expect(states.values.allSatisfy { $0 == .succeeded })
        }
    }

    @Test func watchOfEverythingTellsWhatRunsAndHearsOfNewJobs() async throws {
        try await TestServer.with { server in
            let running = try await server.enqueue(.echo("a")).jobs[0]
            _ = try await server.claim()
            var events = try await server.client.watch(.all).makeAsyncIterator()
            guard case .job(let first)? = try await events.next() else { throw TestFailure("no first event") }
            #expect(first.id == running)
            let added = try await server.enqueue(.echo("b")).jobs[0]
            guard case .job(let second)? = try await events.next() else { throw TestFailure("no second event") }
            #expect(second.id == added)
        }
    }

    @Test func waitingForAResultEndsWithTheJob() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            async let result = server.client.result(id, waiting: .seconds(60))
            try await server.runAll()
            #expect(try await result?.outcome == .succeeded)
            let open = try await server.enqueue(.echo("b")).jobs[0]
            #expect(try await server.client.result(open, waiting: .milliseconds(20)) == nil)
        }
    }

    @Test func watcherThatGoesAwayIsForgotten() async throws {
        try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            do {
                var events = try await server.client.watch(.job(id)).makeAsyncIterator()
                _ = try await events.next()
                #expect(server.reports.observerCount == 1)
            }
            // Nothing happens to the job, so the server itself must notice the end of the connection.
            await server.reports.waitForObservers(0)
        }
    }

    @Test func serverThatStopsEndsItsStreams() async throws {
        let (ended, watching) = try await TestServer.with { server in
            let id = try await server.enqueue(.echo("a")).jobs[0]
            let events = try await server.client.watch(.job(id))
            // The task is awaited after the server has stopped.
            let watching = Task {
                var told: [WatchEvent] = []
                do {
                    for try await event in events { told.append(event) }
                    return (told, ControlProblem?.none)
                } catch {
                    return (told, error as? ControlProblem)
                }
            }
            return (id, watching)
        }
        let (_, problem) = await watching.value
        #expect(problem?.code == .unavailable, "\(ended)")
    }
}
