import Jobs

extension Check {
    static let rescuing: [Check] = [
        Check("p6OrphansAreReadyAtOnceAfterARestart") { bench in
            let job = try await bench.enqueue(bench.job())
            let waiting = try await bench.enqueue(bench.job())
            let lost = try await bench.claimOne().lease
            try await bench.restart()
            bench.advance(.seconds(5))
            let report = try await bench.rescue()
            try expectEqual(report, RescueReport(returned: [job], failed: [], cancelled: []))
            let record = try await bench.record(job)
            try expectEqual(record.state, .ready)
            try expectEqual(record.rescues, 1)
            try expectEqual(record.tries, 0)
            let attempt = try unwrap(try await bench.store.attempts(of: job).first)
            try expectEqual(attempt.outcome, .crashed)
            try expectEqual(attempt.endedAt, bench.now)
            try expectEqual(
                try await bench.claim().map(\.lease), [Lease(job: job, attempt: 2), Lease(job: waiting, attempt: 1)])
            // P3: if the lost attempt still reports its end, that changes nothing.
            try expectEqual(try await bench.end(lost, .succeeded(JSONText("1"))), .leaseLost)
        },
        Check("p6AJobThatKeepsTakingTheDaemonDownFails") { bench in
            let job = try await bench.enqueue(bench.job())
            let dependent = try await bench.enqueue(bench.job(after: [.existing(job)]))
            for rescue in 1...3 {
                _ = try await bench.claimOne()
                let report = try await bench.restartAndRescue(maxRescues: 2, after: .crash)
                try expectEqual(report.failed, rescue == 3 ? [job] : [])
                let message = try unwrap(try await bench.store.attempts(of: job).last?.error).message
                try expect(message.contains("SIGSEGV") && message.contains("alone"), message)
            }
            try expectEqual(try await bench.state(job), .failed)
            let failure = try await bench.failure(job)
            try expectEqual(failure.code, JobFailure.Code.crashed)
            for part in [
                "ended 3 times", "max_rescues in the daemon's configuration allows 2", "halyard retry \(job)\"",
            ] {
                try expect(failure.message.contains(part), failure.message)
            }
            try expectEqual(try await bench.state(dependent), .skipped)
            try expectEqual(try await bench.store.attempts(of: job).count, 3)
        },
        Check("p14ALoneJobOutlivesKillsFromOutside") { bench in
            let job = try await bench.enqueue(bench.job())
            // Only these unexplained ends point to the job, so it takes many of them until the job fails.
            for kill in 1...3 * LastEnd.unexplainedPerCrash {
                _ = try await bench.claimOne()
                let report = try await bench.restartAndRescue(maxRescues: 2, after: .unexplained)
                try expectEqual(report.failed, kill == 3 * LastEnd.unexplainedPerCrash ? [job] : [], "kill \(kill):")
            }
            try expectEqual(try await bench.failure(job).code, JobFailure.Code.crashed)
        },
        Check("p14NoJobIsBlamedForARestartOfTheMachineOrAStoreThatStopped") { bench in
            let job = try await bench.enqueue(bench.job())
            for round in 1...30 {
                _ = try await bench.claimOne()
                let isStop = round.isMultiple(of: 2)
                if !isStop { bench.clock.restartMachine(after: .seconds(60)) }
                let report = try await bench.restartAndRescue(
                    maxRescues: 0, after: isStop ? .unrelated(reason: "It stopped") : .unexplained)
                try expectEqual(report, RescueReport(returned: [job], failed: [], cancelled: []))
                try expectEqual(try await bench.store.attempts(of: job).last?.outcome, .interrupted)
            }
            try expectEqual(try await bench.record(job).tries, 0)
        },
        Check("p14NoJobIsAloneBesideCodeThatWasGivenUp") { bench in
            let (job, _) = try await bench.startJob()
            bench.store.noteAbandoned(1, by: bench.holder)
            let first = try await bench.restartAndRescue(maxRescues: 0, after: .crash)
            try expectEqual(first.returned, [job])
            // The next process runs no code of abandoned attempts.
            _ = try await bench.claimOne()
            let second = try await bench.restartAndRescue(maxRescues: 0, after: .crash)
            try expectEqual(second.failed, [job])
        },
        Check("p14ACrashBlamesNoJobThatRanTogetherWithOthers") { bench in
            let jobs = [try await bench.enqueue(bench.job()), try await bench.enqueue(bench.job())]
            for crash in 1...2 {
                try expectEqual(Set(try await bench.claim().map(\.lease.job)), Set(jobs), "crash \(crash):")
                let report = try await bench.restartAndRescue(maxRescues: 0, after: .crash)
                // A single crash puts no job on trial.
                try expectEqual(
                    report,
                    RescueReport(returned: jobs, failed: [], cancelled: [], onTrial: crash == 1 ? [] : jobs))
            }
            // Both are on trial together, and no other job joins them.
            let other = try await bench.enqueue(bench.job(priority: .veryHigh))
            try expectEqual(Set(try await bench.claim().map(\.lease.job)), Set(jobs))
            let report = try await bench.restartAndRescue(maxRescues: 0, after: .crash)
            try expectEqual(report.onTrial, jobs)
            // After the third crash each of them runs alone. A job that ends normally is cleared, and the next one
            // follows.
            let first = try await bench.claim()
            try expectEqual(first.map(\.lease.job), [jobs[1]])
            try expectEqual(try await bench.claim(), [])
            try await bench.end(first[0].lease, .succeeded(JSONText("1")))
            try expectEqual(try await bench.claim().map(\.lease.job), [jobs[0]])
            try await bench.restart()
            try expectEqual(
                try await bench.rescue(maxRescues: 0, after: .crash).failed, [jobs[0]])
            try expectEqual(try await bench.claim().map(\.lease.job), [other])
        },
        Check("p14ATrialHoldsOthersForABoundedTime") { bench in
            let jobs = [try await bench.enqueue(bench.job()), try await bench.enqueue(bench.job())]
            for _ in 1...3 {
                _ = try await bench.claim()
                try await bench.restartAndRescue()
            }
            let other = try await bench.enqueue(bench.job())
            let first = try await bench.exchange(slots: 10)
            try expectEqual(first.claimed.map(\.lease.job), [jobs[1]])
            try expectEqual(first.nextDueAt, bench.now + .seconds(30))
            try expectEqual(
                try await bench.store.trials(now: bench.now),
                CrashTrials.Report(running: [jobs[1]], pending: 1, endsAt: bench.now + .seconds(30)))
            bench.advance(.seconds(30))
            try expectEqual(try await bench.claim().map(\.lease.job), [jobs[0]])
            // P8: setting the wall clock neither ends nor extends a trial.
            for change in [Duration.seconds(-86_400), .seconds(2 * 86_400)] {
                bench.clock.set(by: change)
                try expectEqual(try await bench.claim(), [])
                try expectEqual(try await bench.store.trials(now: bench.now)?.endsAt, bench.now + .seconds(30))
            }
            bench.advance(.seconds(30))
            try expectEqual(try await bench.claim().map(\.lease.job), [other])
            try expectEqual(try await bench.store.trials(now: bench.now), nil)
        },
        Check("p14AJobThatCannotStartHoldsNoOthers") { bench in
            try await bench.change(QueueChange(name: "second"))
            let jobs = [try await bench.enqueue(bench.job()), try await bench.enqueue(bench.job(queue: "second"))]
            for _ in 1...3 {
                _ = try await bench.claim()
                try await bench.restartAndRescue()
            }
            let other = try await bench.enqueue(bench.job())
            try await bench.cancel([jobs[0]])
            try await bench.change(QueueChange(name: "second", isPaused: true))
            try expectEqual(try await bench.claim().map(\.lease.job), [other])
        },
        Check("p14InnocentJobsNeverFailForTheCrashesOfOthers", each: Array(1...20)) { bench, seed in
            try await randomCrashes(bench, seed: seed)
        },
        Check("p6AnOrphanThatWasToBeCancelledIsCancelled") { bench in
            let (job, _) = try await bench.startJob()
            try await bench.cancel([job])
            let report = try await bench.restartAndRescue()
            try expectEqual(report, RescueReport(returned: [], failed: [], cancelled: [job]))
            try expectEqual(try await bench.state(job), .cancelled)
        },
        Check("p5AnAttemptRunsAgainAfterACrashAndOnlyOneResultCounts") { bench in
            let (job, _) = try await bench.startJob()
            try await bench.restartAndRescue()
            let again = try await bench.claimOne()
            try expectEqual(again.lease, Lease(job: job, attempt: 2))
            try await bench.end(again.lease, .succeeded(JSONText("2")))
            try expectEqual(try await bench.end(Lease(job: job, attempt: 1), .succeeded(JSONText("1"))), .leaseLost)
            try expectEqual(try await bench.result(job).attempt, 2)
            try expectEqual(try await bench.result(job).value, .succeeded(JSONText("2")))
        },
        Check("aRescueWithoutOrphansDoesNothing") { bench in
            _ = try await bench.enqueue(bench.job())
            try expectEqual(
                try await bench.rescue(),
                RescueReport(returned: [], failed: [], cancelled: []))
        },
        Check("p7ARestartAfterADrainRescuesNothing") { bench in
            let (job, lease) = try await bench.startJob()
            try await bench.end(lease, .interrupted)
            try await bench.restart()
            try expectEqual(try await bench.rescue().returned, [])
            try expectEqual(try await bench.record(job).rescues, 0)
        },
    ]
}

extension LastEnd {
    static let crash = LastEnd.crashed(cause: "SIGSEGV")
}
