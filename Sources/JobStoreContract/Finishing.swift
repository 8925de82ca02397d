import Jobs

extension Check {
    static let finishing: [Check] = [
        Check("aSuccessIsKeptWithItsResult") { bench in
            let (job, lease) = try await bench.startJob()
            bench.advance(.seconds(3))
            let value = JSONText("{\"status\":201}")
            try expectEqual(try await bench.end(lease, .succeeded(value)), .recorded(.succeeded))
            let finishedAt = bench.now
            try await bench.restart()
            try expectEqual(
                try await bench.result(job),
                JobResult(job: job, attempt: 1, value: .succeeded(value), finishedAt: finishedAt))
            let record = try await bench.record(job)
            try expectEqual(record.state, .succeeded)
            try expectEqual(record.finishedAt, finishedAt)
            try expectEqual(record.tries, 1)
            let attempt = AttemptRecord(
                lease: lease, outcome: .succeeded, startedAt: record.startedAt!, endedAt: finishedAt,
                error: nil, retryAt: nil)
            try expectEqual(try await bench.store.attempts(of: job), [attempt])
        },
        Check("aFailureIsKeptWithItsCodeAndDetail") { bench in
            let job = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            try expectEqual(try await bench.result(job).value, .ended(.failed, .broken))
            try expectEqual(try await bench.store.attempts(of: job).map(\.error), [.broken])
            try expectEqual(try await bench.store.attempts(of: job).map(\.outcome), [.failed])
        },
        Check("aTimeoutIsAnOutcomeOfTheAttempt") { bench in
            let job = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken, timedOut: true))
            try expectEqual(try await bench.store.attempts(of: job).map(\.outcome), [.timedOut])
            try expectEqual(try await bench.state(job), .failed)
        },
        Check("theConnectionsOfAnAttemptAreKeptWhateverItsEnd") { bench in
            let later = Duration.seconds(30)
            let refused = NewGraph(isGraph: false, jobs: [bench.job(after: [bench.dependencyThatIsNot])])
            let endings: [AttemptEnd.Ending] = [
                .succeeded(JSONText("1")), .succeeded(JSONText("1"), children: [refused]), .failed(.broken),
                .failed(.broken, timedOut: true), .retry(.broken, after: later),
                .retry(.broken, timedOut: true, after: later),
                .cancelled, .crashed(.worker(), maxCrashes: 0), .interrupted,
            ]
            var ended: [(JobID, JSONText)] = []
            for (index, ending) in endings.enumerated() {
                let job = try await bench.enqueue(bench.job())
                let usage = AttemptUsage(processorTime: .milliseconds(index), peakMemory: 1 << 40)
                let connections = JSONText(trusted: Array("[{\"number\":1,\"status\":\(200 + index)}, 2]".utf8))
                try await bench.end(try await bench.claimOne().lease, ending, connections: connections, usage: usage)
                try expectEqual(try await bench.store.attempts(of: job).map(\.usage), [usage])
                ended.append((job, connections))
            }
            try await bench.restart()
            for (job, connections) in ended {
                try expectEqual(try await bench.store.attempts(of: job).map(\.connections), [connections])
            }
            // No connections are stored for an attempt that made none, nor for an attempt that is no longer current.
            let claimed = try await bench.claimOne()
            try await bench.end(claimed.lease, .failed(.broken))
            try expectEqual(
                try await bench.end(claimed.lease, .failed(.broken), connections: JSONText("[1]")), .leaseLost)
            try expectEqual(try await bench.store.attempts(of: claimed.lease.job).last?.connections, nil)
        },
        Check("aRetryUsesUpATryAndWaitsForItsTime") { bench in
            let job = try await bench.enqueue(bench.job())
            let at = bench.now + .seconds(30)
            let claimed = try await bench.claimOne()
            try expectEqual(
                try await bench.end(claimed.lease, .retry(.broken, after: .seconds(30))), .recorded(.scheduled))
            try expectEqual(try await bench.record(job).dueAt, at)
            try expectEqual(try await bench.store.attempts(of: job).map(\.retryAt), [at])
            try expectEqual(try await bench.claim(), [])
            bench.advance(.seconds(30))
            let again = try await bench.claimOne()
            try expectEqual(again.lease, Lease(job: job, attempt: 2))
            try expectEqual(again.tries, 1)
        },
        Check("aRetryWithoutAWaitIsReadyAtOnce") { bench in
            let (job, lease) = try await bench.startJob()
            try expectEqual(try await bench.end(lease, .retry(.broken, after: .zero)), .recorded(.ready))
            try expectEqual(try await bench.claimOne().lease, Lease(job: job, attempt: 2))
        },
        Check("p7AnInterruptedAttemptUsesUpNoTry") { bench in
            let (job, lease) = try await bench.startJob()
            try expectEqual(try await bench.end(lease, .interrupted), .recorded(.ready))
            let record = try await bench.record(job)
            try expectEqual(record.tries, 0)
            try expectEqual(record.rescues, 0)
            try expectEqual(try await bench.store.attempts(of: job).map(\.outcome), [.interrupted])
            try expectEqual(try await bench.claimOne().lease.attempt, 2)
        },
        Check("p3AnEndUnderALostLeaseChangesNothing") { bench in
            let (job, first) = try await bench.startJob()
            try await bench.end(first, .retry(.broken, after: .zero))
            // The lease stays lost between attempts, during the next attempt, and after the job is final.
            try expectEqual(try await bench.end(first, .succeeded(JSONText("\"late\""))), .leaseLost)
            try expectEqual(try await bench.state(job), .ready)
            let second = try await bench.claimOne().lease
            for ending in [
                AttemptEnd.Ending.succeeded(JSONText("\"late\"")), .failed(.broken), .retry(.broken, after: .zero),
                .cancelled, .interrupted, .crashed(.worker(), maxCrashes: 0),
            ] {
                try expectEqual(try await bench.end(first, ending), .leaseLost)
            }
            try expectEqual(try await bench.state(job), .running)
            try await bench.end(second, .succeeded(JSONText("\"right\"")))
            for lease in [first, second, Lease(job: job, attempt: 3), Lease(job: JobID(999), attempt: 1)] {
                try expectEqual(try await bench.end(lease, .failed(.broken)), .leaseLost)
            }
            try expectEqual(try await bench.result(job).value, .succeeded(JSONText("\"right\"")))
            try expectEqual(try await bench.store.attempts(of: job).count, 2)
        },
        Check("p3OfTwoEndsOfOneLeaseTheFirstCounts") { bench in
            let (job, lease) = try await bench.startJob()
            let exchange = try await bench.exchange(
                [
                    AttemptEnd(lease: lease, ending: .succeeded(JSONText("1"))),
                    AttemptEnd(lease: lease, ending: .succeeded(JSONText("2"))),
                ], claim: nil)
            try expectEqual(exchange.finished, [.recorded(.succeeded), .leaseLost])
            try expectEqual(try await bench.result(job).value, .succeeded(JSONText("1")))
        },
        Check("p4ChildrenAreEnqueuedWithTheSuccess") { bench in
            let (_, lease) = try await bench.startJob()
            let child = NewGraph(isGraph: false, jobs: [bench.job(input: JSONText("7"))])
            try await bench.end(lease, .succeeded(JSONText("1"), children: [child]))
            let claimed = try await bench.claimOne()
            try expectEqual(claimed.input, JSONText("7"))
            try expect(claimed.lease.job > lease.job, "the child is a new job")
        },
        Check("p4ChildrenThatRefuseEachOtherAreAFailure") { bench in
            let (job, lease) = try await bench.startJob()
            let children = (0..<2).map {
                NewGraph(isGraph: false, jobs: [bench.job()], key: IdempotencyKey(name: "k", fingerprint: $0))
            }
            try expectEqual(
                try await bench.end(lease, .succeeded(JSONText("1"), children: children)), .recorded(.failed))
            try expectEqual(try await bench.failure(job).code, JobFailure.Code.childrenRefused)
            try expectEqual(try await bench.claim(), [])
        },
        Check("p4ASuccessWhoseChildrenAreRefusedIsAFailure") { bench in
            let (job, lease) = try await bench.startJob()
            let children = [bench.job(), bench.job(after: [bench.dependencyThatIsNot])].map {
                NewGraph(isGraph: false, jobs: [$0])
            }
            try expectEqual(
                try await bench.end(lease, .succeeded(JSONText("1"), children: children)), .recorded(.failed))
            try expectEqual(try await bench.failure(job).code, JobFailure.Code.childrenRefused)
            try expectEqual(try await bench.store.jobs(JobFilter()).map(\.id), [job])
        },
        Check("p4AQueueThatWasRemovedIsMadeForAChild") { bench in
            try await bench.change(QueueChange(name: "net", limit: 1, isPaused: true))
            let (parent, lease) = try await bench.startJob()
            try expectEqual(try await bench.store.removeQueue("net", now: bench.now), .removed)
            let children = ["net", "code", "net"].map { NewGraph(isGraph: false, jobs: [bench.job(queue: $0)]) }
            try expectEqual(
                try await bench.end(lease, .succeeded(JSONText("1"), children: children)), .recorded(.succeeded))
            try expectEqual(try await bench.state(parent), .succeeded)
            try await bench.restart()
            try expectEqual(
                try await bench.store.queues().map(\.settings),
                ["code", "default", "net"].map { QueueSettings(name: $0) })
            try expectEqual(try await bench.claim().count, 3)
        },
        Check("onlyTheLastAttemptsAreReadWithTheirConnections") { bench in
            let job = try await bench.enqueue(bench.job())
            let made = (1...AttemptRecord.maxWithConnections + 3).map { JSONText(trusted: Array("[\($0)]".utf8)) }
            for connections in made {
                try await bench.end(
                    try await bench.claimOne().lease, .retry(.broken, after: .zero), connections: connections)
            }
            try expectEqual(
                try await bench.store.attempts(of: job).map(\.connections),
                Array(repeating: nil, count: 3) + made.dropFirst(3).map(Optional.some))
        },
        Check("p3AChildOfALostLeaseIsNotEnqueued") { bench in
            let (job, lease) = try await bench.startJob()
            try await bench.end(lease, .failed(.broken))
            let child = NewGraph(isGraph: false, jobs: [bench.job()])
            try expectEqual(try await bench.end(lease, .succeeded(JSONText("1"), children: [child])), .leaseLost)
            try expectEqual(try await bench.store.jobs(JobFilter()).map(\.id), [job])
        },
        Check("p4AChildMayDependOnTheJobThatEnqueuesIt") { bench in
            let (job, lease) = try await bench.startJob()
            let children = [DependencyCondition.succeeded, .finished].map { condition in
                NewGraph(isGraph: false, jobs: [bench.job(after: [.existing(job, condition)])])
            }
            try expectEqual(
                try await bench.end(lease, .succeeded(JSONText("1"), children: children)), .recorded(.succeeded))
            try expectEqual(try await bench.claim().count, 2)
        },
        Check("p4ChildrenMayDependOnJobsThatEndInTheSameExchange") { bench in
            let jobs = [try await bench.startJob(), try await bench.startJob(), try await bench.startJob()]
            func child(after job: JobID) -> [NewGraph] {
                [NewGraph(isGraph: false, jobs: [bench.job(after: [.existing(job)])])]
            }
            // The first two depend on each other's jobs, and the last one on a job that fails.
            let one = JSONText("1")
            let exchange = try await bench.exchange([
                AttemptEnd(lease: jobs[0].lease, ending: .succeeded(one, children: child(after: jobs[1].job))),
                AttemptEnd(lease: jobs[1].lease, ending: .succeeded(one, children: child(after: jobs[0].job))),
                AttemptEnd(lease: jobs[2].lease, ending: .failed(.broken)),
            ])
            try expectEqual(
                exchange.finished, [.recorded(.succeeded), .recorded(.succeeded), .recorded(.failed)])
            try expectEqual(try await bench.claim().count, 2)
        },
        Check("p4ChildrenOfOneExchangeMayShareAKey") { bench in
            let jobs = [try await bench.startJob(), try await bench.startJob()]
            let one = JSONText("1")
            let ends = jobs.map { job in
                let key = IdempotencyKey(name: "k", fingerprint: 7)
                return AttemptEnd(
                    lease: job.lease,
                    ending: .succeeded(
                        one, children: [NewGraph(isGraph: false, jobs: [bench.job()], key: key)]))
            }
            try expectEqual(
                try await bench.exchange(ends).finished, [.recorded(.succeeded), .recorded(.succeeded)])
            try expectEqual(try await bench.claim().count, 1)
        },
        Check("aJobThatRepeatsAnotherNamesIt") { bench in
            let first = try await bench.enqueue(bench.job())
            try await bench.runOne(.failed(.broken))
            var again = bench.job()
            again.repeats = first
            let second = try await bench.enqueue(again)
            try expectEqual(try await bench.record(second).repeats, first)
            try expectEqual(try await bench.state(first), .failed)
        },
        Check("p2EveryJobOfARandomDayComesToOneOutcome") { bench in
            try await randomDay(bench, seed: 20_250_615)
        },
        Check("p2EveryJobOfAnotherRandomDayComesToOneOutcome") { bench in try await randomDay(bench, seed: 7) },
    ]
}
