import Jobs

extension Check {
    static let cancelling: [Check] = [
        Check("aJobThatHasNotStartedIsCancelledAtOnce") { bench in
            let ready = try await bench.enqueue(bench.job())
            let scheduled = try await bench.enqueue(bench.job(dueAt: bench.now + .seconds(9)))
            let blocked = try await bench.enqueue(bench.job(after: [.existing(ready)]))
            try expectEqual(
                try await bench.cancel([blocked, scheduled, ready, JobID(999)]),
                [.cancelled, .cancelled, .cancelled, .unknown])
            for job in [ready, scheduled, blocked] {
                let record = try await bench.record(job)
                try expectEqual(record.state, .cancelled)
                try expectEqual(record.cancelRequestedAt, bench.now)
                try expectEqual(record.finishedAt, bench.now)
                try expectEqual(try await bench.failure(job).code, JobFailure.Code.cancelled)
            }
            try expectEqual(try await bench.claim(), [])
            try expectEqual(try await bench.store.nextDueAt(), nil)
            try expectEqual(try await bench.cancel([ready]), [.alreadyFinal(.cancelled)])
        },
        Check("ofJobsCancelledTogetherNoneIsSkipped") { bench in
            let dependency = try await bench.enqueue(bench.job())
            let dependent = try await bench.enqueue(bench.job(after: [.existing(dependency)]))
            try expectEqual(try await bench.cancel([dependency, dependent]), [.cancelled, .cancelled])
            try expectEqual(try await bench.states([dependency, dependent]), [.cancelled, .cancelled])
        },
        Check("aCancelledJobSkipsWhatNeedsItsSuccess") { bench in
            let dependency = try await bench.enqueue(bench.job())
            let needs = try await bench.enqueue(bench.job(after: [.existing(dependency)]))
            let follows = try await bench.enqueue(
                bench.job(after: [.existing(dependency, .finished)]))
            try await bench.cancel([dependency])
            try expectEqual(try await bench.states([needs, follows]), [.skipped, .ready])
            try expectEqual(try await bench.failure(needs).code, JobFailure.Code.dependencyCancelled)
        },
        Check("aRunningJobIsAskedToStopOnce") { bench in
            let (job, lease) = try await bench.startJob()
            try expectEqual(try await bench.cancel([job]), [.requested])
            let asked = bench.now
            bench.advance(.seconds(1))
            try expectEqual(try await bench.cancel([job]), [.requested])
            try expectEqual(try await bench.record(job).cancelRequestedAt, asked)
            try expectEqual(try await bench.state(job), .running)
            try expectEqual(try await bench.end(lease, .cancelled), .recorded(.cancelled))
            try expectEqual(try await bench.result(job).attempt, 1)
            try expectEqual(try await bench.store.attempts(of: job).map(\.outcome), [.cancelled])
        },
        Check("aRunningJobThatSucceedsBeforeItStopsHasSucceeded") { bench in
            let (job, lease) = try await bench.startJob()
            try await bench.cancel([job])
            try expectEqual(try await bench.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
            try expectEqual(try await bench.cancel([job]), [.alreadyFinal(.succeeded)])
        },
        Check("aJobAskedToStopIsNotTriedAgain", each: [false, true]) { bench, restarts in
            let jobs = [try await bench.enqueue(bench.job()), try await bench.enqueue(bench.job())]
            let leases = try await bench.claim().map(\.lease)
            let life = bench.holder
            try await bench.cancel(jobs)
            // The request to cancel survives a restart, and so does the lease until a rescue (H3).
            if restarts { try await bench.restart() }
            for (lease, ending) in zip(leases, [.retry(.broken, after: .zero), AttemptEnd.Ending.interrupted]) {
                let end = AttemptEnd(lease: lease, ending: ending)
                let answer = try await bench.store.exchange([end], claim: nil, by: life, now: bench.now)
                try expectEqual(answer.finished, [.recorded(.cancelled)])
            }
            try expectEqual(try await bench.store.attempts(of: jobs[0]).map(\.retryAt), [nil])
            try expectEqual(try await bench.store.attempts(of: jobs[0]).map(\.outcome), [.failed])
            try expectEqual(try await bench.claim(), [])
        },
        Check("cancellingAGraphCancelsEveryOpenJobOfIt") { bench in
            let receipt = try await bench.enqueue(graph: [
                bench.job(), bench.job(),
                // This dependent comes before its dependency.
                bench.job(after: [.new(3)]),
                bench.job(after: [.new(1, .finished)]),
            ])
            let outside = try await bench.enqueue(bench.job(after: [.existing(receipt.jobs[2])]))
            try await bench.runOne()
            let lease = try await bench.claimOne().lease
            try expectEqual(
                try await bench.store.cancel(graph: receipt.graph!, now: bench.now),
                [receipt.jobs[1]: .requested, receipt.jobs[2]: .cancelled, receipt.jobs[3]: .cancelled])
            try expectEqual(
                try await bench.states(receipt.jobs + [outside]),
                [.succeeded, .running, .cancelled, .cancelled, .skipped])
            try await bench.end(lease, .cancelled)
            try expect(try await bench.store.graph(receipt.graph!)?.finishedAt != nil, "the graph is finished")
            try expectEqual(try await bench.store.cancel(graph: receipt.graph!, now: bench.now), [:])
            try expectEqual(try await bench.store.cancel(graph: GraphID(999), now: bench.now), nil)
        },
    ]
}
