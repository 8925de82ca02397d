import ControlProtocol
import Jobs
import SQLiteStore
import Testing

@testable import StoreControl

/// What is repeated finds what its input was made of.
@Suite struct PruneAndRetryTests {
    private struct Bench {
        let files: TestStore
        let control: StoreControl
        let definition: DefinitionID

        static func with(_ body: (Bench) async throws -> Void) async throws {
            try await TestStore.with { files in
                let control = StoreControl(
                    store: files.store, database: files.database, version: "test", now: { TestStore.moment })
                let definition = try #require(try await files.store.definitions().definitions.first).id
                try await body(Bench(files: files, control: control, definition: definition))
            }
        }

        func enqueue(_ jobs: [NewJob]) async throws -> EnqueueReceipt {
            let outcome = try await files.store.enqueue([NewGraph(isGraph: true, jobs: jobs)], now: TestStore.moment)
            guard case .enqueued(let receipt)? = outcome.first else { throw Refused() }
            return receipt
        }

        struct Refused: Error {}

        func endAll(_ ending: AttemptEnd.Ending) async throws {
            let store = files.store
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 9), now: TestStore.moment).claimed
            _ = try await store.exchange(
                claimed.map { AttemptEnd(lease: $0.lease, ending: ending) }, claim: nil, now: TestStore.moment)
        }

        /// The second failed, after the first gave its value.
        func halfFailed() async throws -> EnqueueReceipt {
            let first = NewJob(definition: definition)
            let second = NewJob(definition: definition, dependencies: [NewDependency(on: .new(0))])
            let receipt = try await enqueue([first, second])
            try await endAll(.succeeded(.emptyObject))
            try await endAll(.failed(JobFailure(code: "broken", message: "It broke.")))
            return receipt
        }
    }

    /// P1: a caller that got no answer sends the request again.
    @Test func aRetryWithAKeyIsRepeatedHarmlessly() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.control.enqueue(Submission(.definition("echo")))
            try await bench.endAll(.succeeded(.emptyObject))
            let job = receipt.jobs[0]
            let again = try await bench.control.retry(job, dependents: false, key: "again")
            #expect(try await bench.control.retry(job, dependents: false, key: "again") == again)
            try await bench.endAll(.succeeded(.emptyObject))
            #expect(try await bench.control.retry(job, dependents: false, key: "again") == again)
            #expect(try await bench.control.jobs(JobFilter()).count == 2)
            // The key of another request, or a key with hidden characters.
            for (id, dependents, key, code) in [
                (job, true, "again", ControlProblem.Code.keyReused), (again.jobs[0], false, "again", .keyReused),
                (job, false, "a\u{1B}", .invalidRequest), (job, false, "", .invalidRequest),
            ] {
                let problem = await #expect(throws: ControlProblem.self) {
                    _ = try await bench.control.retry(id, dependents: dependents, key: key)
                }
                #expect(problem?.code == code)
            }
            #expect(try await bench.control.retry(job, dependents: false).jobs != again.jobs)
        }
    }

    @Test func aRepeatWhoseQueueWasRemovedSaysWhatToDo() async throws {
        try await Bench.with { bench in
            _ = try await bench.control.change(QueueChange(name: "gone"), create: true)
            let submission = Submission(.definition("echo"), queue: "gone")
            let receipt = try await bench.control.enqueue(submission)
            try await bench.endAll(.succeeded(.emptyObject))
            try await bench.control.removeQueue("gone")
            let problem = await #expect(throws: ControlProblem.self) {
                _ = try await bench.control.retry(receipt.jobs[0], dependents: false)
            }
            #expect(problem?.code == .unknownQueue)
            #expect(
                problem?.message
                    == "The queue \"gone\" was removed. To create it again: halyard queues set gone --create")
            // And that helps.
            _ = try await bench.control.change(QueueChange(name: "gone"), create: true)
            #expect(try await bench.control.retry(receipt.jobs[0], dependents: false).jobs.count == 1)
        }
    }

    @Test func aFailedJobKeepsItsInputsWhenWhatSucceededIsPruned() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.halfFailed()
            let later = TestStore.moment + .seconds(1)
            #expect(
                try await bench.control.prune(PruneRequest(finishedBefore: later, outcomes: [.succeeded]))
                    == PruneAnswer(deleted: 0, keptByGraph: 1))
            let again = try await bench.control.retry(receipt.jobs[1], dependents: false)
            let detail = try await bench.control.job(again.jobs[0])
            #expect(detail.dependencies.map(\.job) == [receipt.jobs[0]])
            // The repeat needs the first job; so the graph stays with it.
            #expect(try await bench.control.prune(PruneRequest(finishedBefore: later)).keptByDependents == 2)
            try await bench.endAll(.succeeded(.emptyObject))
            #expect(try await bench.control.prune(PruneRequest(finishedBefore: later)) == PruneAnswer(deleted: 3))
        }
    }

    /// Two branches failed; what joins them was skipped. Whichever is repeated, the other one goes along.
    @Test func aRetryTakesTheOtherBranchThatFailedAlong() async throws {
        try await Bench.with { bench in
            func job(after places: Int...) -> NewJob {
                NewJob(definition: bench.definition, dependencies: places.map { NewDependency(on: .new($0)) })
            }
            let receipt = try await bench.enqueue([job(), job(), job(after: 0), job(after: 1), job(after: 2, 3)])
            try await bench.endAll(.failed(JobFailure(code: "broken", message: "It broke.")))
            for id in receipt.jobs.prefix(2) {
                let again = try await bench.control.retry(id, dependents: true)
                #expect(again.jobs.count == 5)
                try await bench.endAll(.succeeded(.emptyObject))
                try await bench.endAll(.succeeded(.emptyObject))
                try await bench.endAll(.succeeded(.emptyObject))
                for job in again.jobs { #expect(try await bench.control.job(job).job.state == .succeeded) }
            }
        }
    }

    /// It may come to as many jobs as any submission.
    @Test func aRetryOfMuchWaitsForItsTurn() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.halfFailed()
            let asking = Task { () async -> ControlProblem? in
                while !Task.isCancelled { await Task.yield() }
                return await #expect(throws: ControlProblem.self) {
                    _ = try await bench.control.retry(receipt.jobs[1], dependents: true)
                }
            }
            asking.cancel()
            #expect(await asking.value?.code == .unavailable)
            // And gives it back.
            for _ in 1...3 { _ = try await bench.control.retry(receipt.jobs[1], dependents: true) }
        }
    }

    @Test func aJobThatLostADependencyIsNotRepeated() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.halfFailed()
            try await bench.files.tamper("DELETE FROM dependency WHERE dependent_id = \(receipt.jobs[1])")
            let problem = await #expect(throws: ControlProblem.self) {
                try await bench.control.retry(receipt.jobs[1], dependents: false)
            }
            #expect(problem?.code == .unmetDependency)
            #expect(problem?.message.contains("Only 0 of 1 dependencies") == true)
        }
    }

    @Test func whyNamesSomeDependenciesAndCountsTheRest() async throws {
        try await Bench.with { bench in
            var jobs = Array(repeating: NewJob(definition: bench.definition), count: 150)
            jobs.append(
                NewJob(definition: bench.definition, dependencies: (0..<150).map { NewDependency(on: .new($0)) }))
            let receipt = try await bench.enqueue(jobs)
            let reasons = try await bench.control.why(receipt.jobs[150]).reasons
            #expect(reasons.count == 102)
            guard case .dependency(let first) = reasons[0] else {
                Issue.record("\(reasons[0])")
                return
            }
            #expect(first.job == receipt.jobs[0])
            #expect(reasons[100] == .moreDependencies(50))
        }
    }

    @Test func aGraphIsShownWithoutInputs() async throws {
        try await Bench.with { bench in
            let receipt = try await bench.enqueue([NewJob(definition: bench.definition, input: .emptyObject)])
            let graph = try await bench.control.graph(try #require(receipt.graph))
            #expect(graph.jobs.map(\.input) == [nil])
            #expect(try await bench.control.job(receipt.jobs[0]).job.input == .emptyObject)
        }
    }
}
