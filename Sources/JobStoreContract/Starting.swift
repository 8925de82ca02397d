import Jobs

extension Check {
    static let starting: [Check] = [
        Check("aJobForLaterIsScheduledAndBecomesReadyWhenDue") { bench in
            let dueAt = bench.now + .seconds(60)
            let job = try await bench.enqueue(bench.job(dueAt: dueAt))
            try expectEqual(try await bench.state(job), .scheduled)
            try expectEqual(try await bench.record(job).dueAt, dueAt)
            try expectEqual(try await bench.store.nextDueAt(), dueAt)
            bench.advance(.milliseconds(59_999))
            var exchange = try await bench.exchange(slots: 1)
            try expectEqual(exchange.claimed, [])
            try expectEqual(exchange.nextDueAt, dueAt)
            bench.advance(.milliseconds(1))
            exchange = try await bench.exchange(slots: 1)
            try expectEqual(exchange.claimed.map(\.lease.job), [job])
            try expectEqual(exchange.nextDueAt, nil)
        },
        Check("aJobWhoseTimeHasPassedIsReadyAtOnce") { bench in
            let job = try await bench.enqueue(bench.job(dueAt: bench.now))
            try expectEqual(try await bench.state(job), .ready)
        },
        Check("p8AClockThatJumpsBackOnlyDelaysWhatIsScheduled") { bench in
            let later = try await bench.enqueue(bench.job(dueAt: bench.now + .seconds(1)))
            let ready = try await bench.enqueue(bench.job())
            bench.clock.set(by: .seconds(-3600))
            try expectEqual(try await bench.claim().map(\.lease.job), [ready])
            try await bench.end(Lease(job: ready, attempt: 1), .succeeded(JSONText("1")))
            bench.advance(.seconds(3601))
            try expectEqual(try await bench.claim().map(\.lease.job), [later])
        },
        Check("aDependencyThatAlreadyFinishedIsDecidedAtOnce") { bench in
            let good = try await bench.enqueue(bench.job())
            try await bench.runOne()
            let bad = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            let afterGood = try await bench.enqueue(bench.job(after: [.existing(good)]))
            let afterBad = try await bench.enqueue(bench.job(after: [.existing(bad)]))
            let whatever = try await bench.enqueue(
                bench.job(after: [.existing(bad, .finished)]))
            try expectEqual(try await bench.states([afterGood, afterBad, whatever]), [.ready, .skipped, .ready])
            let failure = try await bench.failure(afterBad)
            try expectEqual(failure.code, JobFailure.Code.dependencyFailed)
            try expect(failure.message.contains("job \(bad)"), "the message names the dependency: \(failure.message)")
        },
        Check("aSkipAtEnqueueReachesTheWholeNewGraph") { bench in
            let bad = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            // The order is deliberate: job 0 depends on job 2, which depends on the failed job.
            let receipt = try await bench.enqueue(graph: [
                bench.job(after: [.new(2)]), bench.job(after: [.new(0, .finished)]), bench.job(after: [.existing(bad)]),
            ])
            try expectEqual(try await bench.states(receipt.jobs), [.skipped, .ready, .skipped])
            try expectEqual(try await bench.failure(receipt.jobs[0]).code, JobFailure.Code.dependencySkipped)
            let graph = try unwrap(try await bench.store.graph(receipt.graph!))
            try expectEqual(graph.counts[.skipped], 2)
            try expectEqual(graph.counts[.ready], 1)
            try expectEqual(graph.finishedAt, nil)
        },
        Check("aDependencyOnARunningJobIsWaitedFor") { bench in
            let dependency = try await bench.enqueue(bench.job())
            let claimed = try await bench.claimOne()
            let dependent = try await bench.enqueue(bench.job(after: [.existing(dependency)]))
            try expectEqual(try await bench.state(dependent), .blocked)
            try await bench.end(claimed.lease, .succeeded(JSONText("1")))
            try expectEqual(try await bench.state(dependent), .ready)
        },
        Check("aBlockedJobForLaterWaitsForItsTimeToo") { bench in
            let dueAt = bench.now + .seconds(60)
            let receipt = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)], dueAt: dueAt)])
            try await bench.runOne()
            try expectEqual(try await bench.state(receipt.jobs[1]), .scheduled)
            try expectEqual(try await bench.store.nextDueAt(), dueAt)
        },
    ]
}
