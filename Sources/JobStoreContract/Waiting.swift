import CalendarEvents
import Jobs

/// P8: setting the wall clock neither lengthens nor shortens a wait that was requested as a duration.
extension Check {
    static let waiting: [Check] = [
        Check("p8SettingTheClockDoesNotChangeAWait", each: waits) { bench, wait in
            try await expectOneMinute(bench, isRetry: wait.isRetry) { bench.clock.set(by: wait.jump) }
        },
        Check("p8ARestartDoesNotChangeAWait", each: waits) { bench, wait in
            try await expectOneMinute(bench, isRetry: wait.isRetry) {
                bench.clock.set(by: wait.jump)
                try await bench.restartAndRescue()
            }
        },
        Check("p8TimeWhileTheMachineWasOffCounts") { bench in
            try await expectOneMinute(bench, isRetry: true, remaining: .seconds(45 - 20)) {
                bench.clock.restartMachine(after: .seconds(15))
                try await bench.restart()
                _ = try await bench.claim()
                bench.clock.restartMachine(after: .zero)
                try await bench.restart()
            }
        },
        Check("p8AMachineThatForgetsTheTimeProlongsNoWait", each: jumps.filter { $0 < .zero }) { bench, jump in
            // The database has recorded no time after the wait began.
            try await expectOneMinute(bench, isRetry: true, remaining: .seconds(60)) {
                bench.clock.restartMachine(after: jump)
                try await bench.restart()
            }
        },
        Check("p8ACalendarTimeFollowsTheClock", each: jumps) { bench, jump in
            let dueAt = bench.now + .seconds(60)
            let job = try await bench.enqueue(bench.job(dueAt: dueAt))
            bench.clock.set(by: jump)
            let isDue = bench.now >= dueAt
            try expectEqual(try await bench.claim().map(\.lease.job), isDue ? [job] : [])
            if !isDue {
                bench.advance(dueAt - bench.now)
                try expectEqual(try await bench.claim().map(\.lease.job), [job])
            }
            try await bench.end(Lease(job: job, attempt: 1), .succeeded(JSONText("1")))
        },
        Check("p8AClockThatIsSetBeforeTheCommitDoesNotDelayTheAlarm", each: jumps) { bench, jump in
            let recorder = Recorder(bench.store)
            let blocking = try await bench.enqueue(bench.job())
            let now = bench.now
            bench.clock.set(by: jump)
            let start = Submission.Start.after(.seconds(60))
            for dependencies in [[], [NewDependency.existing(blocking)]] {
                let job = NewJob(definition: bench.step, start: start, dependencies: dependencies)
                _ = try await bench.store.enqueue([NewGraph(isGraph: false, jobs: [job])], now: now)
            }
            let lease = try await bench.claimOne().lease
            let end = AttemptEnd(lease: lease, ending: .succeeded(JSONText("1")))
            _ = try await bench.exchange([end], claim: nil)
            let dueAt = bench.now + .seconds(60)
            try expectEqual(recorder.jobs.compactMap(\.dueAt), [dueAt, dueAt])
        },
        Check("p8AWaitOfABlockedJobCountsFromItsEnqueue", each: jumps) { bench, jump in
            let pair = try await bench.enqueue(graph: [bench.job(), bench.job(after: [.new(0)], wait: .seconds(60))])
            bench.advance(.seconds(20))
            bench.clock.set(by: jump)
            try await bench.runOne()
            try expectEqual(try await bench.state(pair.jobs[1]), .scheduled)
            try expectEqual(try await bench.record(pair.jobs[1]).dueAt, bench.now + .seconds(40))
            bench.advance(.milliseconds(39_999))
            try expectEqual(try await bench.claim(), [])
            bench.advance(.milliseconds(1))
            try expectEqual(try await bench.runOne(), pair.jobs[1])
        },
        Check("p8ReadyJobsKeepTheirOrderAndTheirAge", each: jumps) { bench, jump in
            let old = try await bench.enqueue(bench.job(priority: .low))
            let first = try await bench.enqueue(bench.job())
            bench.advance(.seconds(10))
            bench.clock.set(by: jump)
            let second = try await bench.enqueue(bench.job())
            for (job, wait, ageing) in [(first, 0, 1000), (old, 90, 100), (second, 0, 100)] {
                bench.advance(.seconds(wait))
                let claimed = try await bench.claim(1, ageing: .seconds(ageing))
                try expectEqual(claimed.map(\.lease.job), [job])
                for claim in claimed { try await bench.end(claim.lease, .succeeded(JSONText("1"))) }
            }
        },
        Check("p8SettingTheClockDoesNotChangeTheTimeSinceAScheduleFired", each: jumps) { bench, jump in
            let schedule = Schedule(name: "it", calendar: [try CalendarExpression("daily")], definition: "step")
            try await bench.change(DefinitionChange(schedules: [schedule]))
            bench.advance(.seconds(7))
            bench.clock.set(by: jump)
            try expectEqual(try await bench.store.schedule("it")?.sinceLast, .seconds(7))
            try await bench.restart()
            try expectEqual(try await bench.store.schedules().map(\.sinceLast), [.seconds(7)])
            _ = try await bench.store.setPaused(true, schedule: "it", now: bench.now)
            bench.advance(.seconds(7))
            _ = try await bench.store.setPaused(false, schedule: "it", now: bench.now)
            try expectEqual(try await bench.store.schedule("it")?.sinceLast, .zero)
            try await bench.store.change(DefinitionChange(scheduleRemovals: ["it"]), now: bench.now)
        },
    ]
}

/// The differences by which the wall clock is set.
private let jumps: [Duration] = [60, 3600, 86_400].flatMap { [.seconds(-$0), .seconds($0)] }

/// Waits of both kinds with each of the jumps.
private let waits = [true, false].flatMap { isRetry in jumps.map { (isRetry: isRetry, jump: $0) } }

/// Expects that a wait of one minute lasts another `remaining` after 20 seconds have passed and `happens` has run.
private func expectOneMinute(
    _ bench: Workbench, isRetry: Bool, remaining: Duration = .seconds(40), _ happens: () async throws -> Void
) async throws {
    let job: JobID
    if isRetry {
        job = try await bench.enqueue(bench.job())
        try await bench.runOne(.retry(.broken, after: .seconds(60)))
    } else {
        job = try await bench.enqueue(bench.job(wait: .seconds(60)))
    }
    try expectEqual(try await bench.record(job).dueAt, bench.now + .seconds(60))
    bench.advance(.seconds(20))
    try await happens()
    let exchange = try await bench.exchange(slots: 9)
    try expectEqual(exchange.claimed, [])
    try expectEqual(exchange.nextDueAt, bench.now + remaining)
    // Records show the end of the wait on the current wall clock.
    try expectEqual(try await bench.record(job).dueAt, bench.now + remaining)
    try expectEqual(try await bench.store.nextDueAt(), bench.now + remaining)
    bench.advance(remaining - .milliseconds(1))
    try expectEqual(try await bench.claim(), [])
    bench.advance(.milliseconds(1))
    try expectEqual(try await bench.runOne(), job)
}
