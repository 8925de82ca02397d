import Jobs

extension Check {
    static let pruning: [Check] = [
        Check("pruningDeletesOldFinishedJobsWithAllThatIsTheirs") { bench in
            let old = try await bench.enqueue(bench.job(input: JSONText("1")))
            try await bench.runOne()
            let failed = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            bench.advance(.seconds(100))
            let young = try await bench.enqueue(bench.job())
            try await bench.runOne()
            let open = try await bench.enqueue(bench.job())
            let request = PruneRequest(finishedBefore: bench.now, outcomes: [.succeeded])
            try expectEqual(try await bench.prune(request), 1)
            try expectEqual(
                try await bench.store.jobs(JobFilter(order: .oldestFirst)).map(\.id), [failed, young, open])
            try expectEqual(try await bench.store.result(of: old), nil)
            try expectEqual(try await bench.store.attempts(of: old), [])
            let everything = PruneRequest(finishedBefore: bench.now + .seconds(1))
            try expectEqual(try await bench.prune(everything), 2)
            let queue = try unwrap(try await bench.store.queues().first { $0.settings.name == "default" })
            try expectEqual(queue.counts.total, 1)
        },
        Check("aJobStaysWhileItsGraphOrADependentIsOpen") { bench in
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job()])
            let lone = try await bench.enqueue(bench.job())
            let dependent = try await bench.enqueue(
                bench.job(after: [.existing(lone)], dueAt: bench.now + .seconds(9)))
            let claimed = try await bench.claim()
            for job in claimed where job.lease.job != receipt.jobs[1] {
                try await bench.end(job.lease, .succeeded(JSONText("1")))
            }
            try expectEqual(try await bench.pruneAfterASecond(), 0)
            try await bench.cancel([dependent])
            try await bench.end(Lease(job: receipt.jobs[1], attempt: 1), .succeeded(JSONText("1")))
            try expectEqual(try await bench.pruneAfterASecond(), 4)
            try expectEqual(try await bench.store.graph(receipt.graph!), nil)
        },
        Check("pruningGoesOnWhereItStopped") { bench in
            var jobs: [JobID] = []
            for _ in 0..<5 {
                jobs.append(try await bench.enqueue(bench.job()))
                try await bench.runOne()
            }
            bench.advance(.seconds(1))
            let request = PruneRequest(finishedBefore: bench.now)
            let first = try await bench.store.prune(request, below: nil, limit: 3)
            try expectEqual(first, PruneStep(deleted: 3, next: jobs[2]))
            let young = try await bench.enqueue(bench.job())
            let second = try await bench.store.prune(request, below: first.next, limit: 3)
            try expectEqual(second, PruneStep(deleted: 2, next: nil))
            try expectEqual(try await bench.store.jobs(JobFilter()).map(\.id), [young])
        },
        Check("aGraphIsPrunedWholeByItsOutcome") { bench in
            let receipt = try await bench.enqueue(graph: Array(repeating: bench.job(), count: 3))
            for job in try await bench.claim() {
                try await bench.end(
                    job.lease,
                    job.lease.job == receipt.jobs[1] ? .failed(.broken) : .succeeded(JSONText("1")))
            }
            bench.advance(.seconds(1))
            var request = PruneRequest(finishedBefore: bench.now, outcomes: [.succeeded, .cancelled, .skipped])
            try expectEqual(
                try await bench.store.prune(request, below: nil, limit: 100),
                PruneStep(deleted: 0, keptByGraph: 2, next: nil))
            try expectEqual(try unwrap(try await bench.store.graph(receipt.graph!)).counts[.succeeded], 2)
            request.outcomes = [.failed]
            let step = try await bench.store.prune(request, below: nil, limit: 1)
            try expectEqual(step.deleted, 3, "a graph is not divided:")
            try expectEqual(try await bench.store.graph(receipt.graph!), nil)
            try expectEqual(try unwrap(try await bench.store.queues().first).counts.total, 0)
        },
        Check("whatAKeptJobDependedOnIsKept") { bench in
            let graph = try await bench.enqueue(graph: [bench.job(), bench.job()])
            let lone = try await bench.enqueue(bench.job())
            for job in try await bench.claim() { try await bench.end(job.lease, .succeeded(JSONText("1"))) }
            let dependencies: [NewDependency] = [.existing(lone), .existing(graph.jobs[0])]
            let dependent = try await bench.enqueue(bench.job(after: dependencies))
            try await bench.runOne(.failed(.broken))
            bench.advance(.seconds(1))
            let succeeded = PruneRequest(finishedBefore: bench.now, outcomes: [.succeeded])
            try expectEqual(
                try await bench.store.prune(succeeded, below: nil, limit: 100),
                PruneStep(deleted: 0, keptByDependents: 3, next: nil))
            try expectEqual(try await bench.dependencies(of: dependent).count, 2)
            // Dependents are deleted before their dependencies, so that one walk is enough.
            try expectEqual(try await bench.prune(PruneRequest(finishedBefore: bench.now)), 4)
        },
        Check("aClockThatOnceJumpedForwardDoesNotStopPruning") { bench in
            let old = try await bench.enqueue(bench.job())
            try await bench.runOne()
            bench.advance(.seconds(1_000_000))
            let future = try await bench.enqueue(bench.job())
            try await bench.runOne()
            bench.clock.set(by: .seconds(-1_000_000 + 1))
            let next = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            try expectEqual(try await bench.pruneAfterASecond(), 2)
            try expectEqual(try await bench.store.job(old), nil)
            try expectEqual(try await bench.store.job(next), nil)
            try expectEqual(try await bench.store.jobs(JobFilter()).map(\.id), [future])
        },
        Check("aPrunedNumberIsNeverUsedAgain") { bench in
            let receipt = try await bench.enqueue(graph: [bench.job()])
            try await bench.runOne()
            try expectEqual(try await bench.pruneAfterASecond(), 1)
            try await bench.restart()
            let next = try await bench.enqueue(graph: [bench.job()])
            try expect(next.jobs[0] > receipt.jobs[0], "the job's number \(next.jobs[0]) is new")
            try expect(next.graph! > receipt.graph!, "the graph's number \(next.graph!) is new")
        },
        Check("aKeyLastsAsLongAsItsJobs") { bench in
            let graph = NewGraph(
                isGraph: false, jobs: [bench.job(), bench.job(dueAt: bench.now + .seconds(60))],
                key: IdempotencyKey(name: "k", fingerprint: 1))
            let receipt = try await bench.enqueue(graph)
            try await bench.runOne()
            try expectEqual(try await bench.pruneAfterASecond(), 1)
            try expectEqual(try await bench.store.enqueue([graph], now: bench.now), [.duplicate(receipt)])
            bench.advance(.seconds(60))
            try await bench.runOne()
            try expectEqual(try await bench.pruneAfterASecond(), 1)
            let again = try await bench.enqueue(graph)
            try expect(again.jobs[0] > receipt.jobs[1], "the key is free again")
        },
    ]
}
