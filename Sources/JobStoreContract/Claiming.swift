import Jobs

extension Check {
    static let claiming: [Check] = [
        Check("aClaimStartsAnAttemptUnderALease") { bench in
            let input = JSONText("[1,2]")
            let job = try await bench.enqueue(bench.job(input: input))
            let claimed = try await bench.claimOne()
            try expectEqual(
                claimed,
                ClaimedJob(
                    lease: Lease(job: job, attempt: 1), definition: bench.step, graph: nil, input: input,
                    hasDependencies: false, tries: 0))
            let record = try await bench.record(job)
            try expectEqual(record.state, .running)
            try expectEqual(record.attempt, 1)
            try expectEqual(record.startedAt, bench.now)
            try expectEqual(try await bench.claim(), [])
        },
        Check("withinAQueueHigherPrioritiesGoFirstAndThenThoseReadyForLonger") { bench in
            var jobs: [Priority: [JobID]] = [:]
            for priority in [Priority.normal, .veryLow, .veryHigh, .low, .high, .veryHigh, .normal] {
                jobs[priority, default: []].append(try await bench.enqueue(bench.job(priority: priority)))
            }
            let expected = Priority.allCases.sorted(by: >).flatMap { jobs[$0]! }
            try expectEqual(try await bench.claim().map(\.lease.job), expected)
        },
        Check("ageingLiftsAJobThatWaits") { bench in
            let old = try await bench.enqueue(bench.job(priority: .low))
            bench.advance(.seconds(99))
            let normal = try await bench.enqueue(bench.job(priority: .normal))
            // One step of ageing gives the old job the same priority as the new one, and the older of two equal jobs
            // goes first. Before that, the old job stays behind.
            try expectEqual(try await bench.claim(1, ageing: .seconds(100)).map(\.lease.job), [normal])
            try await bench.end(Lease(job: normal, attempt: 1), .interrupted)
            bench.advance(.seconds(1))
            try expectEqual(try await bench.claim(1, ageing: .seconds(100)).map(\.lease.job), [old])
        },
        Check("aJobThatBecomesReadyLaterHidesNoneThatWaits") { bench in
            let later = try await bench.enqueue(bench.job(priority: .low, dueAt: bench.now + .seconds(10)))
            let waiting = try await bench.enqueue(bench.job(priority: .low))
            bench.advance(.seconds(10))
            let normal = try await bench.enqueue(bench.job(priority: .normal))
            var order: [JobID] = []
            for _ in 0..<3 { order += try await bench.claim(1, ageing: .seconds(10)).map(\.lease.job) }
            try expectEqual(order, [waiting, normal, later])
        },
        Check("ageingEndsAtTheHighestPriority") { bench in
            let high = try await bench.enqueue(bench.job(priority: .veryHigh))
            let low = try await bench.enqueue(bench.job(priority: .veryLow))
            bench.advance(.seconds(100_000))
            try expectEqual(try await bench.claim(2, ageing: .seconds(1)).map(\.lease.job), [high, low])
        },
        Check("aQueueRunsNoMoreThanItsLimit") { bench in
            try await bench.change(QueueChange(name: "narrow", limit: 2))
            for _ in 0..<5 { _ = try await bench.enqueue(bench.job(queue: "narrow")) }
            let first = try await bench.claim()
            try expectEqual(first.count, 2)
            try expectEqual(try await bench.claim().count, 0)
            try await bench.end(first[0].lease, .succeeded(JSONText("1")))
            try expectEqual(try await bench.claim().count, 1)
            try await bench.change(QueueChange(name: "narrow", limit: 4))
            try expectEqual(try await bench.claim().count, 2)
        },
        Check("aQueueRunsNoMoreOnOneDaemonThanItsLimitThere") { bench in
            try await bench.change(QueueChange(name: "narrow", limit: 10, limitPerDaemon: .atMost(2)))
            for _ in 0..<20 { _ = try await bench.enqueue(bench.job(queue: "narrow")) }
            let first = try await bench.claim()
            try expectEqual(first.count, 2)
            try expectEqual(try await bench.claim().count, 0)
            try await bench.end(first[0].lease, .succeeded(JSONText("1")))
            try expectEqual(try await bench.claim().count, 1)
            try await bench.change(QueueChange(name: "narrow", limitPerDaemon: .atMost(4)))
            try expectEqual(try await bench.claim().count, 2)
            // The smaller of the two limits applies.
            try await bench.change(QueueChange(name: "narrow", limit: 5, limitPerDaemon: .atMost(7)))
            try expectEqual(try await bench.claim().count, 1)
            try await bench.change(QueueChange(name: "narrow", limit: 8, limitPerDaemon: .unlimited))
            try expectEqual(try await bench.claim().count, 3)
            try expectEqual(try await bench.claim().count, 0)
        },
        Check("theSlotsThatEndsGiveBackAreClaimedInTheSameExchange") { bench in
            try await bench.change(QueueChange(name: "single", limit: 1))
            for _ in 0..<2 { _ = try await bench.enqueue(bench.job(queue: "single")) }
            let first = try await bench.claimOne()
            let exchange = try await bench.exchange(
                [AttemptEnd(lease: first.lease, ending: .succeeded(JSONText("1")))], claim: ClaimRequest(slots: 4))
            try expectEqual(exchange.finished, [.recorded(.succeeded)])
            try expectEqual(exchange.claimed.count, 1)
        },
        Check("aPausedQueueStartsNothingUntilItIsResumed") { bench in
            let job = try await bench.enqueue(bench.job())
            let paused = try await bench.change(QueueChange(name: "default", isPaused: true))
            try expectEqual(paused.pausedAt, bench.now)
            try expectEqual(try await bench.claim(), [])
            try await bench.restart()
            try expectEqual(try await bench.claim(), [])
            try await bench.change(QueueChange(name: "default", isPaused: false))
            try expectEqual(try await bench.claim().map(\.lease.job), [job])
        },
        Check("slotsAreSharedBetweenQueuesByWeight") { bench in
            try await bench.change(QueueChange(name: "heavy", limit: 100, weight: 3))
            try await bench.change(QueueChange(name: "light", limit: 100, weight: 1))
            var light: Set<JobID> = []
            for _ in 0..<40 {
                _ = try await bench.enqueue(bench.job(queue: "heavy"))
                light.insert(try await bench.enqueue(bench.job(queue: "light")))
            }
            // The shares also hold across many claims of a single slot each.
            var claimed: [JobID] = []
            for _ in 0..<4 { claimed += try await bench.claim(4).map(\.lease.job) }
            for _ in 0..<8 { claimed += try await bench.claim(1).map(\.lease.job) }
            try expectEqual(claimed.count, 24)
            try expectEqual(claimed.filter(light.contains).count, 6)
        },
        Check("anIdleQueueLeavesItsShareToTheOthers") { bench in
            try await bench.change(QueueChange(name: "heavy", limit: 100, weight: 9))
            for _ in 0..<5 { _ = try await bench.enqueue(bench.job()) }
            try expectEqual(try await bench.claim(5).count, 5)
        },
        Check("noSlotsClaimNothing") { bench in
            _ = try await bench.enqueue(bench.job())
            try expectEqual(try await bench.claim(0), [])
        },
        Check("manyJobsBecomeDueAtOnceAndNoneIsForgotten") { bench in
            try await bench.change(QueueChange(name: "wide", limit: 5000))
            let dueAt = bench.now + .seconds(1)
            let job = bench.job(queue: "wide", dueAt: dueAt)
            _ = try await bench.enqueue(graph: Array(repeating: job, count: 2500))
            bench.advance(.seconds(2))
            var started = 0
            // A caller that receives a next due time in the past claims again at once.
            var isMoreDue = true
            while isMoreDue {
                let exchange = try await bench.exchange(slots: 5000)
                started += exchange.claimed.count
                isMoreDue = exchange.nextDueAt.map { $0 <= bench.now } ?? false
            }
            try expectEqual(started, 2500)
        },
    ]
}
