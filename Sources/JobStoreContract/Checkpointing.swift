import Jobs

extension Check {
    static let checkpointing: [Check] = [
        Check("theNextAttemptHasTheLastCheckpointHoweverTheOneBeforeEnded") { bench in
            let job = try await bench.enqueue(bench.job())
            var expected: JSONText?
            let endings: [AttemptEnd.Ending] = [
                .retry(.broken, after: .zero), .retry(.broken, timedOut: true, after: .zero), .interrupted,
                .crashed(.worker(), maxCrashes: 9),
            ]
            for (index, ending) in endings.enumerated() {
                let claimed = try await bench.claimOne()
                try expectEqual(claimed.checkpoint, expected, "before \(ending):")
                for part in 0...1 {
                    let value = JSONText(trusted: Array("{\"part\": [\(index), \(part)]}".utf8))
                    try await bench.save(value, under: claimed.lease)
                    expected = value
                }
                let savedAt = bench.now
                bench.advance(.seconds(1))
                try expectEqual(
                    try await bench.store.checkpoint(of: job),
                    Checkpoint(attempt: index + 1, savedAt: savedAt, value: expected!))
                try expectEqual(try await bench.end(claimed.lease, ending), .recorded(.ready))
            }
            // An attempt that saves nothing leaves the checkpoint of an earlier one.
            for _ in 0..<2 {
                let claimed = try await bench.claimOne()
                try expectEqual(claimed.checkpoint, expected)
                try await bench.end(claimed.lease, .retry(.broken, after: .zero))
                try await bench.restart()
            }
            try expectEqual(try await bench.store.checkpoint(of: job)?.attempt, endings.count)
        },
        Check("anAcknowledgedCheckpointSurvivesACrash") { bench in
            let (job, lease) = try await bench.startJob()
            let other = try await bench.enqueue(bench.job())
            let value = JSONText("null")
            try await bench.save(value, under: lease)
            try await bench.restartAndRescue()
            let claimed = try await bench.claim()
            try expectEqual(claimed.map(\.lease.job), [job, other])
            try expectEqual(claimed.map(\.checkpoint), [value, nil])
            // Nobody receives the answer to the claim, and the holder asks for it again.
            try expectEqual(try await bench.store.held(by: bench.holder), claimed)
        },
        Check("aCheckpointUnderALostLeaseChangesNothing") { bench in
            let (job, lease) = try await bench.startJob()
            let value = JSONText("1")
            try await bench.save(value, under: lease)
            let kept = try await bench.store.checkpoint(of: job)
            let ready = try await bench.enqueue(bench.job())
            func expectLost(_ lease: Lease, by holder: HolderID? = nil, _ reason: String) async throws {
                let save = CheckpointSave(lease: lease, value: JSONText("2"))
                try expectEqual(
                    try await bench.store.save([save], by: holder ?? bench.holder, now: bench.now), [.leaseLost],
                    "\(reason):")
                try expectEqual(try await bench.store.checkpoint(of: job), kept, "\(reason):")
                try expectEqual(try await bench.store.checkpoint(of: ready), nil, "\(reason):")
            }
            try await expectLost(Lease(job: job, attempt: 2), "an attempt to come")
            try await expectLost(Lease(job: ready, attempt: 0), "a job that has never run")
            try await expectLost(Lease(job: JobID(999_999), attempt: 1), "no job")
            try await bench.end(lease, .interrupted)
            try await expectLost(lease, "the attempt has ended")
            let next = try await bench.claimOne().lease
            try expectEqual(next, Lease(job: job, attempt: 2))
            try await expectLost(lease, "another attempt runs")
            let life = bench.holder
            try await bench.begin()
            try await expectLost(next, "another life claimed the job")
            try await bench.rescue(after: .unrelated(reason: "It lapsed"))
            try await expectLost(next, by: life, "the job was rescued")
            try expectEqual(try await bench.claimOne().checkpoint, value)
        },
        Check("aFinalJobHasNoCheckpoint") { bench in
            let value = JSONText("[1]")
            let refused = NewGraph(isGraph: false, jobs: [bench.job(after: [bench.dependencyThatIsNot])])
            let endings: [AttemptEnd.Ending] = [
                .succeeded(JSONText("1")), .succeeded(JSONText("1"), children: [refused]), .failed(.broken),
                .failed(.broken, timedOut: true), .cancelled, .crashed(.worker(), maxCrashes: 0),
            ]
            var jobs: [JobID] = []
            for ending in endings {
                let (job, lease) = try await bench.startJob()
                try await bench.save(value, under: lease)
                try await bench.end(lease, ending)
                jobs.append(job)
            }
            // A cancellation lets a running attempt keep its checkpoint until it ends.
            for ending in [AttemptEnd.Ending.interrupted, .retry(.broken, after: .zero)] {
                let (job, lease) = try await bench.startJob()
                try await bench.save(value, under: lease)
                try await bench.cancel([job])
                try expectEqual(try await bench.store.checkpoint(of: job)?.value, value)
                try await bench.save(value, under: lease)
                try expectEqual(try await bench.end(lease, ending), .recorded(.cancelled))
                jobs.append(job)
            }
            // Jobs that wait for another attempt.
            for wait in [Duration.zero, .seconds(60)] {
                let receipt = try await bench.enqueue(graph: [bench.job()])
                let lease = try await bench.claimOne().lease
                try await bench.save(value, under: lease)
                try await bench.end(lease, .retry(.broken, after: wait))
                _ = try await bench.store.cancel(graph: receipt.graph!, now: bench.now)
                jobs += receipt.jobs
            }
            // Jobs that end at a rescue.
            let (cancelled, lease) = try await bench.startJob()
            try await bench.save(value, under: lease)
            try await bench.cancel([cancelled])
            try expectEqual(try await bench.restartAndRescue().cancelled, [cancelled])
            let (crashed, last) = try await bench.startJob()
            try await bench.save(value, under: last)
            try expectEqual(try await bench.restartAndRescue(maxRescues: 0, after: .crash).failed, [crashed])
            for job in jobs + [cancelled, crashed] {
                try expect(try await bench.state(job).isFinal, "job \(job) is final")
                try expectEqual(try await bench.store.checkpoint(of: job), nil, "job \(job):")
            }
            _ = try await bench.pruneAfterASecond()
            try expectEqual(try await bench.store.checkpoint(of: jobs[0]), nil)
        },
        Check("aJobThatRepeatsAnotherBeginsWithoutACheckpoint") { bench in
            let (job, lease) = try await bench.startJob()
            try await bench.save(JSONText("7"), under: lease)
            try await bench.end(lease, .failed(.broken))
            var again = bench.job()
            again.repeats = job
            let repeated = try await bench.enqueue(again)
            let claimed = try await bench.claimOne()
            try expectEqual(claimed.lease, Lease(job: repeated, attempt: 1))
            try expectEqual(claimed.checkpoint, nil)
        },
        Check("checkpointsAreSavedTogether") { bench in
            var jobs: [JobID] = []
            for _ in 0..<5 { jobs.append(try await bench.enqueue(bench.job())) }
            let leases = try await bench.claim().map(\.lease)
            try expectEqual(leases.map(\.job), jobs)
            try await bench.end(leases[1], .interrupted)
            // In no order of the jobs, and two for one of them.
            let saves = [
                CheckpointSave(lease: leases[4], value: JSONText("4")),
                CheckpointSave(lease: leases[2], value: JSONText("2")),
                CheckpointSave(lease: leases[1], value: JSONText("1")),
                CheckpointSave(lease: leases[4], value: JSONText("\"later\"")),
                CheckpointSave(lease: leases[0], value: JSONText("0")),
            ]
            try expectEqual(
                try await bench.store.save(saves, by: bench.holder, now: bench.now),
                [.saved, .saved, .leaseLost, .saved, .saved])
            try expectEqual(try await bench.store.save([], by: bench.holder, now: bench.now), [])
            try await bench.restartAndRescue()
            let claimed = try await bench.claim()
            let found = Dictionary(uniqueKeysWithValues: claimed.map { ($0.lease.job, $0.checkpoint) })
            let expected = [JSONText("0"), nil, JSONText("2"), nil, JSONText("\"later\"")]
            try expectEqual(jobs.map { found[$0]! }, expected)
        },
        Check("checkpointsOfTheLargestSizeAreKept") { bench in
            let count = 10
            for _ in 0..<count { _ = try await bench.enqueue(bench.job()) }
            let values = (0..<count).map { index in
                let letters = Array(repeating: UInt8(ascii: "a") + UInt8(index), count: Checkpoint.maxBytes - 2)
                return JSONText(trusted: [UInt8(ascii: "\"")] + letters + [UInt8(ascii: "\"")])
            }
            let leases = try await bench.claim().map(\.lease)
            let saves = zip(leases, values).map { CheckpointSave(lease: $0, value: $1) }
            _ = try await bench.store.save(saves, by: bench.holder, now: bench.now)
            let larger = JSONText(trusted: values[0].bytes + [UInt8(ascii: " ")])
            var refusal: StoreError?
            do throws(StoreError) {
                let save = CheckpointSave(lease: leases[0], value: larger)
                _ = try await bench.store.save([save], by: bench.holder, now: bench.now)
            } catch {
                refusal = error
            }
            guard case .internalError = refusal else {
                throw Violation(
                    description: "expected the tables to refuse a larger checkpoint, found \(refusal as Any)")
            }
            try await bench.restartAndRescue()
            let claimed = try await bench.claim().sorted { $0.lease.job < $1.lease.job }
            try expect(claimed.map(\.checkpoint) == values, "each job has its own checkpoint")
        },
    ]

    /// Checkpoints of several holders.
    static let sharingCheckpoints: [Check] = [
        Check(pair: "aRescuedJobTakesItsCheckpointToAnotherHolder") { pair in
            let (job, lease) = try await pair.a.startJob()
            try await pair.a.save(JSONText("1"), under: lease)
            try await pair.advance(HolderLife.usualLength + .seconds(1), renewing: pair.b)
            // H3: nobody has rescued the job yet.
            try await pair.a.save(JSONText("2"), under: lease)
            try expectEqual(try await pair.b.rescue().returned, [job])
            let save = CheckpointSave(lease: lease, value: JSONText("3"))
            try expectEqual(
                try await pair.a.store.save([save], by: pair.a.holder, now: pair.a.now), [.leaseLost])
            let claimed = try await pair.b.claimOne()
            try expectEqual(claimed.lease, Lease(job: job, attempt: 2))
            try expectEqual(claimed.checkpoint, JSONText("2"))
            try await pair.b.save(JSONText("4"), under: claimed.lease)
            try await pair.b.end(claimed.lease, .interrupted)
            // And back to the first one, in its next life.
            try await pair.a.begin()
            let again = try await pair.a.claimOne()
            try expectEqual(again.checkpoint, JSONText("4"))
            try await pair.a.end(again.lease, .succeeded(JSONText("1")))
            try expectEqual(try await pair.b.store.checkpoint(of: job), nil)
        }
    ]
}
