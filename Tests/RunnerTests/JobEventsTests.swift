import Jobs
import OperationTypes
import Testing

@testable import Runner

@Suite struct JobEventsTests {
    private func change(_ job: Int64, _ state: JobState, graph: Int64? = nil) -> JobChange {
        JobChange(job: JobID(job), graph: graph.map(GraphID.init(_:)), state: state, attempt: 1)
    }

    private func next(_ count: Int, of sequence: JobEventSequence) async -> [JobEvent] {
        var events: [JobEvent] = []
        for await event in sequence {
            events.append(event)
            if events.count == count { break }
        }
        return events
    }

    @Test func subscribersHearWhatIsInTheirScope() async {
        let events = JobEvents()
        let all = events.subscribe(.all)
        let one = events.subscribe(.job(JobID(1)))
        let graph = events.subscribe(.graph(GraphID(9)))
        let changes = [change(1, .running), change(2, .ready, graph: 9), change(1, .succeeded)]
        events.publish(changes)
        events.finish()
        #expect(await next(9, of: all) == changes.map { .changed($0) })
        #expect(await next(9, of: one) == [.changed(changes[0]), .changed(changes[2])])
        #expect(await next(9, of: graph) == [.changed(changes[1])])
    }

    @Test func slowReaderIsToldHowMuchItMissed() async {
        let events = JobEvents()
        let slow = events.subscribe(.all, capacity: 3)
        events.publish((1...10).map { change($0, .ready) })
        #expect(
            await next(4, of: slow) == [.missed(7)] + (8...10).map { .changed(change($0, .ready)) })
        events.publish([change(11, .ready)])
        #expect(await next(1, of: slow) == [.changed(change(11, .ready))])
    }

    @Test func readerWaitsForWhatComes() async {
        let events = JobEvents()
        let sequence = events.subscribe(.job(JobID(1)))
        async let first = next(1, of: sequence)
        events.publish([change(1, .running)])
        #expect(await first == [.changed(change(1, .running))])
    }

    @Test func cancelledReaderEnds() async {
        let events = JobEvents()
        let sequence = events.subscribe(.all)
        let reader = Task { await next(1, of: sequence) }
        reader.cancel()
        #expect(await reader.value == [])
    }

    @Test func subscriptionAfterTheEndIsEmpty() async {
        let events = JobEvents()
        events.finish()
        #expect(await next(1, of: events.subscribe(.all)) == [])
    }

    @Test func progressIsToldAtMostTenTimesASecondAndTheLastIsKept() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            for completed in 1...50 as ClosedRange<Int64> {
                job.operation.report(OperationProgress(completed: completed, total: 50, unit: "bytes"))
            }
            _ = await gate.wait(job)
            job.operation.report(OperationProgress(completed: 51, total: 51, unit: "bytes"))
            return input
        }) { harness in
            let runner = harness.runner()
            let events = runner.events.subscribe(.all)
            try await harness.running(runner) { runner in
                let job = try await harness.enqueue(harness.job())
                _ = await gate.arrived()
                #expect(runner.progress(of: job)?.completed == 50)
                harness.uptime.advance(by: .milliseconds(100))
                gate.open()
                try await harness.wait(runner, for: job)
                #expect(runner.progress(of: job) == nil)
            }
            var told: [Int64] = []
            for await case .progress(_, let progress) in events { told.append(progress.completed) }
            #expect(told == [1, 51])
        }
    }
}
