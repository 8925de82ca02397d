import Jobs

/// Crashes of the processes that run attempts. The store itself continues to run (P14).
extension Check {
    static let crashing: [Check] = [
        Check("p14ACrashOfAWorkerUsesUpNoTry") { bench in
            let (job, lease) = try await bench.startJob()
            bench.advance(.seconds(2))
            try expectEqual(
                try await bench.end(lease, .crashed(.worker(beside: 3), maxCrashes: 0)), .recorded(.ready))
            let record = try await bench.record(job)
            try expectEqual(record.tries, 0)
            try expectEqual(record.rescues, 1)
            let attempt = try unwrap(try await bench.store.attempts(of: job).last)
            try expectEqual(attempt.outcome, .crashed)
            try expectEqual(attempt.endedAt, bench.now)
            try expectEqual(attempt.error?.message, Crash.worker().failure.message)
            try expectEqual(try await bench.claimOne().lease, Lease(job: job, attempt: 2))
            // P3: the crashed attempt has lost its lease.
            try expectEqual(try await bench.end(lease, .succeeded(JSONText("1"))), .leaseLost)
        },
        Check("aCrashedJobKeepsItsPlaceAmongTheReadyJobs") { bench in
            let first = try await bench.enqueue(bench.job())
            let lease = try await bench.claimOne().lease
            let second = try await bench.enqueue(bench.job())
            bench.advance(.seconds(2))
            try await bench.end(lease, .crashed(.worker(beside: 1), maxCrashes: 0))
            try expectEqual(try await bench.claim().map(\.lease.job), [first, second])
        },
        Check("p14AJobThatCrashesAWorkerAloneTooOftenFails") { bench in
            let job = try await bench.enqueue(bench.job())
            let dependent = try await bench.enqueue(bench.job(after: [.existing(job)]))
            for crash in 1...3 {
                let result = try await bench.end(try await bench.claimOne().lease, .crashed(.worker(), maxCrashes: 2))
                try expectEqual(result, .recorded(crash == 3 ? .failed : .ready), "crash \(crash):")
            }
            let failure = try await bench.failure(job)
            try expectEqual(failure.code, JobFailure.Code.crashed)
            try expect(failure.message.contains("3 times") && failure.message.contains("retry"), failure.message)
            try expectEqual(try await bench.state(dependent), .skipped)
            try expectEqual(try await bench.store.attempts(of: job).map(\.outcome), [.crashed, .crashed, .crashed])
        },
        Check("p14NoCrashBesideOthersCountsAgainstAJob") { bench in
            let job = try await bench.enqueue(bench.job())
            for _ in 1...20 {
                try await bench.runOne(.crashed(.worker(beside: 1), maxCrashes: 0))
            }
            try expectEqual(try await bench.state(job), .ready)
            try await bench.runOne(.crashed(.worker(), maxCrashes: 0))
            try expectEqual(try await bench.state(job), .failed)
        },
        Check("p14AnUnexplainedEndOfAWorkerCountsAsATenthOfACrash") { bench in
            let job = try await bench.enqueue(bench.job())
            for end in 1...2 * LastEnd.unexplainedPerCrash {
                let crash = Crash.worker(isExplained: false)
                let result = try await bench.end(try await bench.claimOne().lease, .crashed(crash, maxCrashes: 1))
                try expectEqual(result, .recorded(end == 20 ? .failed : .ready), "end \(end):")
            }
            try expectEqual(try await bench.store.attempts(of: job).count, 20)
        },
        Check("p14CrashesOfWorkersAndOfTheDaemonCountTogether") { bench in
            let job = try await bench.enqueue(bench.job())
            try await bench.runOne(.crashed(.worker(), maxCrashes: 1))
            _ = try await bench.claimOne()
            try expectEqual(try await bench.restartAndRescue(maxRescues: 1, after: .crash).failed, [job])
            let other = try await bench.enqueue(bench.job())
            _ = try await bench.claimOne()
            try expectEqual(try await bench.restartAndRescue(maxRescues: 1, after: .crash).returned, [other])
            try await bench.runOne(.crashed(.worker(), maxCrashes: 1))
            try expectEqual(try await bench.state(other), .failed)
        },
        Check("aJobThatWasToBeCancelledIsCancelledByACrash") { bench in
            for maxCrashes in [0, 3] {
                let (job, lease) = try await bench.startJob()
                try await bench.cancel([job])
                try expectEqual(
                    try await bench.end(lease, .crashed(.worker(), maxCrashes: maxCrashes)), .recorded(.cancelled))
                try expectEqual(try await bench.failure(job).code, JobFailure.Code.cancelled)
            }
        },
        Check("theDetailOfACrashIsKeptWithItsCount") { bench in
            let large = "[\"\(String(repeating: "x", count: JobFailure.maxDetailBytes - 4))\"]"
            for (detail, isExplained, expected) in [
                (
                    #"{"signal":"SIGSEGV","log":["a","b"]}"#, true,
                    #"{"beside":2,"cause":"crashed","signal":"SIGSEGV","log":["a","b"]}"#
                ),
                (#"{"log":[],"cause":"SIGBUS","beside":0}"#, true, #"{"beside":2,"cause":"SIGBUS","log":[]}"#),
                (#"{"log":[],"cause":"SIGBUS","beside":0}"#, false, #"{"beside":2,"log":[]}"#),
                (#"["a"]"#, false, #"{"beside":2,"detail":["a"]}"#), (large, false, #"{"beside":2}"#),
            ] {
                let job = try await bench.enqueue(bench.job())
                let failure = JobFailure(
                    code: JobFailure.Code.crashed, message: "It crashed.", detail: JSONText(trusted: Array(detail.utf8))
                )
                let crash = Crash(failure: failure, others: 2, isExplained: isExplained)
                let lease = try await bench.claimOne().lease
                try await bench.end(lease, .crashed(crash, maxCrashes: 0))
                let error = try unwrap(try await bench.store.attempts(of: job).last?.error)
                try expectEqual(error.detail?.string, expected)
                try await bench.cancel([job])
            }
        },
    ]

    static let suspecting: [Check] = [
        Check("p14AJobIsASuspectFromACrashUntilAnAttemptEndsInAnotherWay", each: exonerations) { bench, ending in
            let job = try await bench.enqueue(bench.job())
            try expectEqual(try await bench.claimOne().isSuspect, false)
            for attempt in 1...3 {
                let lease = Lease(job: job, attempt: attempt)
                try await bench.end(
                    lease, attempt == 2 ? .interrupted : .crashed(.worker(beside: 1), maxCrashes: 0))
                try expectEqual(try await bench.claimOne().isSuspect, true, "attempt \(attempt):")
            }
            try await bench.end(Lease(job: job, attempt: 4), ending)
            try expectEqual(try await bench.claimOne().isSuspect, false)
            // Later attempts count as usual.
            try await bench.end(Lease(job: job, attempt: 5), .interrupted)
            try expectEqual(try await bench.claimOne().isSuspect, false)
            try await bench.end(Lease(job: job, attempt: 6), .crashed(.worker(beside: 1), maxCrashes: 0))
            try expectEqual(try await bench.claimOne().isSuspect, true)
            try await bench.end(Lease(job: job, attempt: 7), .succeeded(JSONText("1")))
        },
        Check("p14AJobIsASuspectAfterACrashOfTheDaemonButNotOfTheMachine") { bench in
            let job = try await bench.enqueue(bench.job())
            _ = try await bench.claimOne()
            bench.clock.restartMachine(after: .seconds(60))
            try await bench.restartAndRescue()
            try expectEqual(try await bench.claimOne().isSuspect, false)
            try await bench.restartAndRescue(after: .crash)
            let again = try await bench.claimOne()
            try expectEqual(again.lease, Lease(job: job, attempt: 3))
            try expectEqual(again.isSuspect, true)
        },
    ]
}

/// Endings after which a job is not a suspect any more, and still runs again.
private let exonerations: [AttemptEnd.Ending] = [
    .retry(.broken, after: .zero), .retry(.broken, timedOut: true, after: .zero),
]

extension Crash {
    /// The crash of a worker process.
    static func worker(beside others: Int = 0, isExplained: Bool = true) -> Crash {
        let failure = JobFailure(code: JobFailure.Code.crashed, message: "The worker crashed (SIGSEGV).")
        return Crash(failure: failure, others: others, isExplained: isExplained)
    }
}
