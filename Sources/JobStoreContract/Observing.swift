import Jobs
import Synchronization

/// Records the changes that the store reports to an observer.
final class Recorder: Sendable {
    private let changes = Mutex<[StoreChange]>([])
    private let observation = Mutex<StoreObservation?>(nil)

    init(_ store: any JobStore) {
        let observation = store.observe { [weak self] change in
            self?.changes.withLock { $0.append(change) }
        }
        self.observation.withLock { $0 = observation }
    }

    var all: [StoreChange] { changes.withLock { $0 } }

    var jobs: [JobChange] {
        all.flatMap { change in
            if case .jobs(let jobs) = change { jobs } else { [JobChange]() }
        }
    }

    func stop() { observation.withLock { $0?.cancel() } }
}

extension Check {
    static let observing: [Check] = [
        Check("observersHearOfEveryChangeBeforeItsCallerGoesOn") { bench in
            let recorder = Recorder(bench.store)
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)])])
            let (first, second) = (receipt.jobs[0], receipt.jobs[1])
            func change(
                _ job: JobID, _ state: JobState, _ attempt: Int, dueAt: Timestamp? = nil,
                _ cause: JobChange.Cause? = nil
            ) -> JobChange {
                JobChange(job: job, graph: receipt.graph, state: state, attempt: attempt, dueAt: dueAt, cause: cause)
            }
            var expected: [JobChange] = []
            func expect(_ changes: JobChange...) throws {
                expected += changes
                try expectEqual(recorder.jobs, expected)
            }
            try expect(change(first, .ready, 0, .accepted), change(second, .blocked, 0, .accepted))
            let lease = try await bench.claimOne().lease
            try expect(change(first, .running, 1))
            let at = bench.now + .seconds(1)
            try await bench.end(lease, .retry(.broken, after: .seconds(1)))
            try expect(change(first, .scheduled, 1, dueAt: at))
            bench.advance(.seconds(1))
            let again = try await bench.claimOne().lease
            try expect(change(first, .ready, 1), change(first, .running, 2))
            try await bench.cancel([first])
            var request = change(first, .running, 2)
            request.isCancelRequest = true
            try expect(request)
            try await bench.end(again, .cancelled)
            try expect(change(first, .cancelled, 2), change(second, .skipped, 0, .dependency(first)))
        },
        Check("observersGetTheInputOfAJobThatWasAccepted") { bench in
            let recorder = Recorder(bench.store)
            let parent = try await bench.enqueue(bench.job(input: JSONText("1")))
            let lease = try await bench.claimOne().lease
            let child = NewGraph(isGraph: false, jobs: [bench.job(input: JSONText("2"))])
            try await bench.end(lease, .succeeded(JSONText("3"), children: [child]))
            try expectEqual(recorder.jobs.map(\.input), [JSONText("1"), nil, nil, JSONText("2")])
            try expectEqual(recorder.jobs.map(\.job), [parent, parent, parent, JobID(parent.rawValue + 1)])
        },
        Check("observersHearOfQueuesAndDefinitions") { bench in
            let recorder = Recorder(bench.store)
            try await bench.change(QueueChange(name: "default", isPaused: true))
            try expectEqual(recorder.all, [.queues])
            try await bench.change(QueueChange(name: "default", isPaused: true))
            try expectEqual(recorder.all, [.queues])
            try await bench.change(DefinitionChange(definitions: [Definition(name: "new", kind: "noop")]))
            try expectEqual(recorder.all, [.queues, .definitions])
        },
        Check("whatChangesNothingIsNotTold") { bench in
            let recorder = Recorder(bench.store)
            _ = try await bench.refusal(of: NewGraph(isGraph: false, jobs: [bench.job(queue: "nowhere")]))
            _ = try await bench.claim()
            try await bench.cancel([JobID(999)])
            try expectEqual(recorder.all, [])
        },
        Check("anObservationEndsWhenItIsCancelled") { bench in
            let recorder = Recorder(bench.store)
            _ = try await bench.enqueue(bench.job())
            recorder.stop()
            _ = try await bench.enqueue(bench.job())
            try expectEqual(recorder.jobs.count, 1)
        },
        Check("callersThatShareACommitAreToldInOneOrder") { bench in
            let recorder = Recorder(bench.store)
            let job = bench.job()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 { group.addTask { _ = try await bench.enqueue(job) } }
                try await group.waitForAll()
            }
            let told = recorder.jobs.map(\.job)
            try expectEqual(told, told.sorted())
            try expectEqual(told.count, 100)
        },
    ]
}
