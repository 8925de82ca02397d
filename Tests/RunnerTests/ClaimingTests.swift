import Jobs
import OperationTypes
import SQLiteStore
import Synchronization
import Testing

@testable import Runner

/// Which jobs start, and in what order, on a real database.
@Suite struct ClaimingTests {
    @Test func higherPriorityStartsFirstAndOlderFirstWithinOne() async throws {
        let order = StartOrder()
        try await RunnerHarness.withStore(run: order.body) { harness in
            let jobs = try await harness.enqueue([
                harness.job(input: #""low""#, priority: .low), harness.job(input: #""normal 1""#),
                harness.job(input: #""very high""#, priority: .veryHigh), harness.job(input: #""normal 2""#),
            ])
            try await harness.running(harness.runner(settings: RunnerSettings(slots: 1))) { runner in
                try await harness.wait(runner, for: jobs)
            }
            #expect(order.starts == [#""very high""#, #""normal 1""#, #""normal 2""#, #""low""#])
        }
    }

    @Test func jobThatWaitsLongIsLiftedByAgeing() async throws {
        let order = StartOrder()
        try await RunnerHarness.withStore(run: order.body) { harness in
            let old = try await harness.enqueue(harness.job(input: #""old""#))
            harness.wall.advance(by: .seconds(301))
            let new = try await harness.enqueue(harness.job(input: #""new""#, priority: .high))
            try await harness.running(harness.runner(settings: RunnerSettings(slots: 1, ageing: .seconds(300)))) {
                try await harness.wait($0, for: [old, new])
            }
            #expect(order.starts == [#""old""#, #""new""#])
        }
    }

    @Test func limitOfAQueueHoldsWhileOthersGoOn() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(
            queues: [QueueChange(name: "narrow", limit: 2)],
            run: { input, job throws(TestFailure) in
                _ = await gate.wait(job)
                return input
            }
        ) { harness in
            let narrow = try await harness.enqueue((1...5).map { _ in try harness.job(queue: "narrow") })
            let wide = try await harness.enqueue([harness.job(), harness.job(), harness.job()])
            try await harness.running { runner in
                let started = await gate.arrived(5).map(\.job)
                #expect(Set(started) == Set(narrow.prefix(2) + wide))
                #expect(await runner.proveProgress())
                #expect(runner.snapshot.running == 5)
                gate.open()
                try await harness.wait(runner, for: narrow + wide)
            }
        }
    }

    @Test func jobsOfKindsThatTheDaemonDoesNotServeWait() async throws {
        try await RunnerHarness.withStore([
            RunnerHarness.scripted(), RunnerHarness.scripted("link", kind: "make-link"),
        ]) { harness in
            let other = try await harness.enqueue(harness.job())
            let own = try await harness.enqueue(harness.job("link", input: #"{"url":"http://a/"}"#))
            try await harness.running(harness.runner(serving: ["make-link"])) { runner in
                let state = try await harness.wait(runner, for: own)
                #expect(state == .succeeded)
                #expect(await runner.proveProgress())
                let waiting = try await harness.store.job(other)
                #expect(waiting?.state == .ready)
            }
            // Without the restriction it starts.
            try await harness.running { runner in
                let state = try await harness.wait(runner, for: other)
                #expect(state.isFinal)
            }
        }
    }

    @Test func pausedQueueStartsNothingUntilItIsResumed() async throws {
        try await RunnerHarness.withStore(queues: [QueueChange(name: "side", isPaused: true)]) { harness in
            try await harness.running { runner in
                let job = try await harness.enqueue(harness.job(queue: "side"))
                #expect(await runner.proveProgress())
                #expect(try await harness.store.job(job)?.state == .ready)
                _ = try await harness.store.change(QueueChange(name: "side", isPaused: false), now: harness.wall.now)
                try await harness.wait(runner, for: job)
            }
        }
    }

    @Test func raisedLimitStartsWhatWaitedForIt() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(
            queues: [QueueChange(name: "narrow", limit: 1)],
            run: { input, job throws(TestFailure) in
                _ = await gate.wait(job)
                return input
            }
        ) { harness in
            try await harness.running { runner in
                let jobs = try await harness.enqueue([harness.job(queue: "narrow"), harness.job(queue: "narrow")])
                _ = await gate.arrived()
                _ = try await harness.store.change(QueueChange(name: "narrow", limit: 2), now: harness.wall.now)
                #expect(await gate.arrived().map(\.job) == [jobs[1]])
                gate.open()
                try await harness.wait(runner, for: jobs)
            }
        }
    }

    @Test func queuesShareSlotsByWeight() async throws {
        let order = StartOrder()
        try await RunnerHarness.withStore(
            queues: [
                QueueChange(name: "heavy", limit: 100, weight: 3), QueueChange(name: "light", limit: 100, weight: 1),
            ],
            run: order.body
        ) { harness in
            var jobs: [NewJob] = []
            for _ in 1...40 {
                jobs.append(try harness.job(input: #""light""#, queue: "light"))
                jobs.append(try harness.job(input: #""heavy""#, queue: "heavy"))
            }
            let ids = try await harness.enqueue(jobs)
            try await harness.running(harness.runner(settings: RunnerSettings(slots: 4))) { runner in
                try await harness.wait(runner, for: ids)
            }
            let heavy = order.starts.prefix(40).count { $0 == #""heavy""# }
            #expect((28...32).contains(heavy), "\(heavy) of the first 40")
        }
    }

    @Test func slotsBoundWhatRunsAtOnce() async throws {
        let gate = Gate()
        try await RunnerHarness.withStore(run: { input, job throws(TestFailure) in
            _ = await gate.wait(job)
            return input
        }) { harness in
            let jobs = try await harness.enqueue((1...10).map { _ in try harness.job() })
            try await harness.running(harness.runner(settings: RunnerSettings(slots: 3))) { runner in
                _ = await gate.arrived(3)
                #expect(await runner.proveProgress())
                #expect(runner.snapshot.running == 3)
                runner.apply(RunnerSettings(slots: 5))
                _ = await gate.arrived(2)
                gate.open()
                try await harness.wait(runner, for: jobs)
            }
        }
    }

    @Test func outputsBecomeInputsByTheBindingRule() async throws {
        let definitions = [
            RunnerHarness.scripted(
                "link", kind: "make-link", input: JSONText(trusted: Array(#"{"url":"x:default"}"#.utf8))),
            RunnerHarness.scripted("links", kind: "read-links"),
        ]
        try await RunnerHarness.withStore(definitions) { harness in
            try await harness.running { runner in
                let all = [NewDependency(on: .new(1)), NewDependency(on: .new(0))]
                let jobs = try await harness.enqueue([
                    harness.job("link"), harness.job("link", input: #"{"url":"x:mine"}"#),
                    harness.job("links", after: all),
                    harness.job("links", input: #"{"links":[{"url":"x:explicit"}]}"#, after: all),
                ])
                try await harness.wait(runner, for: jobs)
                #expect(try await harness.output(jobs[2]) == #"["x:mine","x:default"]"#)
                #expect(try await harness.output(jobs[3]) == #"["x:explicit"]"#)
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func outputsThatCannotBeReadNowAreReadAgainInTheSameAttempt() async throws {
        let definitions = [
            RunnerHarness.scripted("link", kind: "make-link"), RunnerHarness.scripted("links", kind: "read-links"),
        ]
        try await RunnerHarness.withStore(definitions) { harness in
            let life = ManualClock(Duration.seconds(5000))
            let store = CutOffStore(harness.store, life)
            store.refuseOutputs(3)
            try await harness.running(harness.runner(on: store, lifeClock: life)) { runner in
                let jobs = try await harness.enqueue([
                    harness.job("link", input: #"{"url":"x:mine"}"#),
                    harness.job("links", after: [NewDependency(on: .new(0))]),
                ])
                try await harness.wait(runner, for: jobs)
                #expect(try await harness.output(jobs[1]) == #"["x:mine"]"#)
                #expect(try await harness.store.attempts(of: jobs[1]).map(\.outcome) == [.succeeded])
            }
        }
    }

    @Test func outputsThatAreTooLargeTogetherFailTheJobBeforeItStarts() async throws {
        let definitions = [
            RunnerHarness.scripted("link", kind: "make-link"), RunnerHarness.scripted("links", kind: "read-links"),
        ]
        try await RunnerHarness.withStore(definitions) { harness in
            let count = WantedOutputs.maxBytes / JSONText.maxBytes + 1
            var jobs = try (0..<count).map { _ in try harness.job("link") }
            jobs.append(try harness.job("links", after: (0..<count).map { NewDependency(on: .new($0)) }))
            let ids = try await harness.enqueue(jobs, isGraph: true)
            let output = JSONText(string: String(repeating: "x", count: JSONText.maxBytes - 2))
            let store = harness.store
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: count), now: harness.wall.now).claimed
            _ = try await store.exchange(
                claimed.map { AttemptEnd(lease: $0.lease, ending: .succeeded(output)) }, claim: nil,
                now: harness.wall.now)
            let last = try #require(ids.last)
            let state = try await harness.running { try await harness.wait($0, for: last) }
            #expect(state == .failed)
            #expect(try await store.attempts(of: last).map(\.error?.code) == [JobFailure.Code.inputTooLarge])
        }
    }

    @Test func graphOfAThousandJobsRunsInOrderOfItsEdges() async throws {
        let order = StartOrder()
        try await RunnerHarness.withStore(run: order.body) { harness in
            // Ten chains of ninety-nine, joined at both ends.
            var jobs = [try harness.job(input: "0")]
            for index in 1...990 {
                let before = index <= 10 ? 0 : index - 10
                jobs.append(try harness.job(input: "\(index)", after: [NewDependency(on: .new(before))]))
            }
            jobs.append(try harness.job(input: "991", after: (981...990).map { NewDependency(on: .new($0)) }))
            let ids = try await harness.enqueue(jobs, isGraph: true)
            try await harness.running { runner in
                let last = try #require(ids.last)
                #expect(try await harness.wait(runner, for: last) == .succeeded)
            }
            var position: [Int: Int] = [:]
            for (at, input) in order.starts.enumerated() { position[try #require(Int(input))] = at }
            #expect(position.count == 992)
            for index in 1...990 {
                let before = index <= 10 ? 0 : index - 10
                #expect(try #require(position[before]) < (try #require(position[index])))
            }
            #expect(position[991] == 991)
        }
    }
}

/// Keeps the inputs of jobs in the order in which they started.
final class StartOrder: Sendable {
    private let inputs = Mutex<[String]>([])

    var starts: [String] { inputs.withLock { $0 } }

    var body: Scripted.Body {
        { input, _ throws(TestFailure) in
            self.inputs.withLock { $0.append(input.string) }
            return input
        }
    }
}
