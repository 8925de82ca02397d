import Jobs

extension Check {
    static let pruning: [Check] = [
        Check("pruningDeletesOldFinishedJobsWithAllThatIsTheirs") { source in
            let bench = try await Workbench(source)
            let old = try await bench.enqueue(bench.job(input: JSONText("1")))
            try await bench.runOne()
            let failed = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            bench.advance(.seconds(100))
            let young = try await bench.enqueue(bench.job())
            try await bench.runOne()
            let open = try await bench.enqueue(bench.job())
            let request = PruneRequest(finishedBefore: bench.now, outcomes: [.succeeded])
            try expectEqual(try await bench.store.prune(request, limit: 10, now: bench.now), 1)
            try expectEqual(
                try await bench.store.jobs(JobFilter(order: .oldestFirst)).map(\.id), [failed, young, open])
            try expectEqual(try await bench.store.result(of: old), nil)
            try expectEqual(try await bench.store.attempts(of: old), [])
            let everything = PruneRequest(finishedBefore: bench.now + .seconds(1))
            try expectEqual(try await bench.store.prune(everything, limit: 10, now: bench.now), 2)
            let queue = try unwrap(try await bench.store.queues().first { $0.settings.name == "default" })
            try expectEqual(queue.counts.total, 1)
        },
        Check("aJobStaysWhileItsGraphOrADependentIsOpen") { source in
            let bench = try await Workbench(source)
            let receipt = try await bench.enqueue(NewGraph(isGraph: true, jobs: [bench.job(), bench.job()]))
            let lone = try await bench.enqueue(bench.job())
            let dependent = try await bench.enqueue(
                bench.job(after: [NewDependency(on: .existing(lone))], dueAt: bench.now + .seconds(9)))
            let claimed = try await bench.claim()
            for job in claimed where job.lease.job != receipt.jobs[1] {
                try await bench.end(job.lease, .succeeded(JSONText("1")))
            }
            bench.advance(.seconds(1))
            let request = PruneRequest(finishedBefore: bench.now)
            try expectEqual(try await bench.store.prune(request, limit: 10, now: bench.now), 0)
            _ = try await bench.store.cancel([dependent], now: bench.now)
            try await bench.end(Lease(job: receipt.jobs[1], attempt: 1), .succeeded(JSONText("1")))
            bench.advance(.seconds(1))
            let later = PruneRequest(finishedBefore: bench.now)
            try expectEqual(try await bench.store.prune(later, limit: 10, now: bench.now), 4)
            try expectEqual(try await bench.store.graph(receipt.graph!), nil)
        },
        Check("pruningStopsAtItsLimit") { source in
            let bench = try await Workbench(source)
            for _ in 0..<5 {
                _ = try await bench.enqueue(bench.job())
                try await bench.runOne()
            }
            bench.advance(.seconds(1))
            let request = PruneRequest(finishedBefore: bench.now)
            try expectEqual(try await bench.store.prune(request, limit: 3, now: bench.now), 3)
            try expectEqual(try await bench.store.prune(request, limit: 3, now: bench.now), 2)
        },
        Check("aPrunedNumberIsNeverUsedAgain") { source in
            var bench = try await Workbench(source)
            let receipt = try await bench.enqueue(NewGraph(isGraph: true, jobs: [bench.job()]))
            try await bench.runOne()
            bench.advance(.seconds(1))
            try expectEqual(
                try await bench.store.prune(PruneRequest(finishedBefore: bench.now), limit: 9, now: bench.now), 1)
            bench = try await bench.restarted()
            let next = try await bench.enqueue(NewGraph(isGraph: true, jobs: [bench.job()]))
            try expect(next.jobs[0] > receipt.jobs[0], "the job's number \(next.jobs[0]) is new")
            try expect(next.graph! > receipt.graph!, "the graph's number \(next.graph!) is new")
        },
        Check("aKeyLastsAsLongAsItsJobs") { source in
            let bench = try await Workbench(source)
            let graph = NewGraph(
                isGraph: false, jobs: [bench.job(), bench.job(dueAt: bench.now + .seconds(60))],
                key: IdempotencyKey(name: "k", fingerprint: 1))
            let receipt = try await bench.enqueue(graph)
            try await bench.runOne()
            bench.advance(.seconds(1))
            let request = PruneRequest(finishedBefore: bench.now)
            try expectEqual(try await bench.store.prune(request, limit: 9, now: bench.now), 1)
            try expectEqual(try await bench.store.enqueue([graph], now: bench.now), [.duplicate(receipt)])
            bench.advance(.seconds(60))
            try await bench.runOne()
            bench.advance(.seconds(1))
            let later = PruneRequest(finishedBefore: bench.now)
            try expectEqual(try await bench.store.prune(later, limit: 9, now: bench.now), 1)
            let again = try await bench.enqueue(graph)
            try expect(again.jobs[0] > receipt.jobs[1], "the key is free again")
        },
    ]
}
