import Jobs

extension Check {
    /// Lives of several holders, which end.
    static let outliving: [Check] = [
        Check(pair: "h2AGoodbyeLeavesItsJobsToTheOthersAtOnce") { pair in
            let (job, lease) = try await pair.a.startJob()
            try await expectChange(in: pair.b.store, "a holder left") {
                if case .holders = $0 { true } else { false }
            } after: {
                try await pair.a.store.leave(pair.a.holder, now: pair.a.now)
            }
            try expectEqual(try await pair.b.rescue().returned, [job])
            try expectEqual(try await pair.b.store.attempts(of: job).last?.outcome, .interrupted)
            try expectEqual(try await pair.b.record(job).tries, 0)
            try expectEqual(try await pair.b.claimOne().lease, Lease(job: job, attempt: 2))
            try expectEqual(try await pair.a.end(lease, .succeeded(JSONText("1"))), .leaseLost)
        },
        Check(pair: "h2ALifeIsRescuedOnlyAfterItsTime") { pair in
            let (job, lease) = try await pair.a.startJob()
            let length = HolderLife.usualLength
            try await pair.advance(length - .seconds(1), renewing: pair.b)
            try expectEqual(try await pair.b.rescue().returned, [])
            try await pair.advance(.seconds(2), renewing: pair.b)
            guard case .renewed(let life) = try await pair.b.store.renew(pair.b.holder, now: pair.b.now) else {
                throw Violation(description: "expected the life to last")
            }
            try expect(life.hasOrphans, "the other holder has left a job")
            try expectEqual(try await pair.b.rescue().returned, [job])
            try expectEqual(try await pair.b.store.attempts(of: job).last?.outcome, .crashed)
            try expectEqual(try await pair.a.store.renew(pair.a.holder, now: pair.a.now), .ended)
            try expectEqual(try await pair.a.end(lease, .succeeded(JSONText("1"))), .leaseLost)
            try expectEqual(try await pair.a.exchange(slots: 9).isAlive, false)
            try expectEqual(try await pair.b.claimOne().lease, Lease(job: job, attempt: 2))
        },
        Check(pair: "h2ARenewedLifeIsNotRescued") { pair in
            let (job, lease) = try await pair.a.startJob()
            try await pair.advance(HolderLife.usualLength * 5, renewing: pair.a, pair.b)
            try expectEqual(try await pair.b.rescue().returned, [])
            try expectEqual(try await pair.a.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
            try expectEqual(try await pair.b.state(job), .succeeded)
        },
        Check(pair: "h1ALifeIsNotRenewedAfterItsTime") { pair in
            let (job, lease) = try await pair.a.startJob()
            try await pair.advance(HolderLife.usualLength + .seconds(1), renewing: pair.b)
            try expectEqual(try await pair.a.store.renew(pair.a.holder, now: pair.a.now), .ended)
            _ = try await pair.a.enqueue(pair.a.job())
            let answer = try await pair.a.exchange([], claim: ClaimRequest(slots: 9))
            try expect(!answer.isAlive && answer.claimed.isEmpty, "an ended life claims nothing")
            // H3: the work was done, and nobody else has begun it.
            try expectEqual(try await pair.a.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
            try expectEqual(try await pair.b.state(job), .succeeded)
        },
        Check(pair: "theNextLifeOfOneHolderLeavesTheOtherAlone") { pair in
            let (first, _) = try await pair.a.startJob()
            let (second, lease) = try await pair.b.startJob()
            let life = try await pair.a.begin()
            try expect(life.hasOrphans, "the life before has left a job")
            try expectEqual(try await pair.a.rescue(after: .unrelated(reason: "It lapsed")).returned, [first])
            try expectEqual(try await pair.b.end(lease, .succeeded(JSONText("1"))), .recorded(.succeeded))
            try expectEqual(try await pair.a.state(second), .succeeded)
        },
        Check(pair: "twoRescuesReturnEachJobOnce") { pair in
            let third = try await Workbench(beside: pair.a, as: .other(3))
            try await pair.a.change(QueueChange(name: QueueSettings.defaultName, limit: 1000))
            let jobs = try await pair.a.enqueue(graph: (0..<200).map { _ in pair.a.job() }).jobs
            try expectEqual(try await pair.a.claim(200).count, 200)
            try await pair.a.store.leave(pair.a.holder, now: pair.a.now)
            async let first = pair.b.rescue()
            async let second = third.rescue()
            let returned = try await first.returned + second.returned
            try expectEqual(returned.count, 200)
            try expectEqual(Set(returned), Set(jobs))
            try await third.end()
        },
        Check(pair: "onlyTheJobsOfOneLifeCountAsCompany") { pair in
            let (alone, _) = try await pair.a.startJob()
            _ = try await pair.b.enqueue(pair.b.job())
            _ = try await pair.b.claimOne()
            // A job on another machine did not run beside it.
            try await pair.a.begin()
            let report = try await pair.a.rescue(maxRescues: 0, after: .crash)
            try expectEqual(report.failed, [alone])
        },
        Check(pair: "allLivesAreListed") { pair in
            _ = try await pair.a.startJob()
            var records = try await pair.b.store.holders()
            try expectEqual(records.map(\.id), [pair.a.holder, pair.b.holder])
            try expectEqual(records.map(\.holder), [.bench, .other()])
            try expectEqual(records.map(\.running), [1, 0])
            let end = pair.a.now + HolderLife.usualLength
            try expectEqual(records.map(\.aliveUntil), [end, end])
            pair.a.advance(.seconds(5))
            _ = try await pair.a.store.renew(pair.a.holder, now: pair.a.now)
            try await pair.b.store.leave(pair.b.holder, now: pair.b.now)
            records = try await pair.a.store.holders()
            try expectEqual(records[0].seenAt, pair.a.now)
            try expectEqual(records[0].aliveUntil, pair.a.now + HolderLife.usualLength)
            try expectEqual(records[1].endedAt, pair.a.now)
        },
    ]
}
