import CalendarEvents
import Jobs

extension Check {
    static let scheduling: [Check] = [
        Check("aScheduleComesBackAsItWasWritten") { bench in
            let schedule = try bench.schedule("nightly", isPersistent: true, overlap: .allow)
            try await bench.change(DefinitionChange(schedules: [schedule]))
            try await bench.restart()
            let record = try unwrap(try await bench.store.schedules().first)
            try expectEqual(
                record, ScheduleRecord(schedule: schedule, revision: 1, updatedAt: bench.now, afterAt: bench.now))
            try expectEqual(try await bench.store.definitions().schedules, [schedule])
            try expectEqual(try await bench.store.nextScheduleAt(), nil)
        },
        Check("writingAScheduleThatIsThereChangesNothing") { bench in
            let schedule = try bench.schedule("nightly")
            try await bench.change(DefinitionChange(schedules: [schedule]))
            let planned = try await bench.planned("nightly", in: .seconds(5))
            let changes = Recorder(bench.store)
            try await bench.change(DefinitionChange(schedules: [schedule]))
            try expectEqual(try await bench.store.schedules(), [planned])
            try expectEqual(changes.all, [])
        },
        Check("aChangedScheduleIsPlannedAnew") { bench in
            try await bench.planNightly(in: .seconds(5))
            bench.advance(.seconds(1))
            let changes = Recorder(bench.store)
            try await bench.change(DefinitionChange(schedules: [bench.schedule("nightly", overlap: .allow)]))
            let record = try await bench.scheduleRecord("nightly")
            try expectEqual(record.revision, 2)
            try expectEqual(record.nextAt, nil)
            try expectEqual(record.afterAt, bench.now)
            try expect(changes.all.contains(.schedules), "observers are told")
            try await bench.change(DefinitionChange(scheduleRemovals: ["nightly"]))
            try expectEqual(try await bench.store.schedules(), [])
        },
        Check("moreSchedulesThanThereMayBeAreNotWritten") { bench in
            let many = try (0..<Schedule.maxCount).map { try bench.schedule("s\($0)") }
            try await bench.change(DefinitionChange(schedules: many))
            let more = DefinitionChange(
                queues: [QueueChange(name: "none")], schedules: [try bench.schedule("more")])
            do {
                try await bench.change(more)
                throw Violation(description: "expected one more schedule to be refused")
            } catch StoreError.tooManySchedules {}
            try expect(try await bench.store.schedule("more") == nil, "it was not written")
            try expect(try await !bench.store.queues().contains { $0.settings.name == "none" }, "nor what came with it")
            // A change may replace or edit schedules even if their number is at the limit.
            try await bench.change(
                DefinitionChange(
                    schedules: [try bench.schedule("more"), try bench.schedule("s1", overlap: .allow)],
                    scheduleRemovals: ["s0"]))
            try expectEqual(try await bench.store.schedules().count, Schedule.maxCount)
        },
        Check("aTimeIsFiredForOnce") { bench in
            var planned = try await bench.planNightly(in: .seconds(5))
            try expectEqual(try await bench.store.nextScheduleAt(), bench.now + .seconds(5))
            try expectEqual(try await bench.store.schedules(due: bench.now, limit: 10), [])
            bench.advance(.seconds(5))
            planned.sinceLast = .seconds(5)
            try expectEqual(try await bench.store.schedules(due: bench.now, limit: 10), [planned])
            let firing = bench.firing(planned, next: .seconds(60))
            let receipt = try bench.receipt(of: try await bench.store.fire(firing, now: bench.now))
            try expectEqual(try await bench.store.fire(firing, now: bench.now), .stale)
            try expectEqual(try await bench.store.jobs(JobFilter()).map(\.id), receipt.jobs)
            let record = try await bench.scheduleRecord("nightly")
            try expectEqual(record.nextAt, bench.now + .seconds(60))
            try expectEqual(record.lastAt, bench.now)
            try expectEqual(record.lastJob, receipt.jobs[0])
            try expectEqual(try await bench.store.nextScheduleAt(), bench.now + .seconds(60))
        },
        Check("aScheduleThatChangedMeanwhileIsNotFired") { bench in
            let planned = try await bench.planNightly(in: .seconds(5))
            _ = try await bench.store.setPaused(true, schedule: "nightly", now: bench.now)
            try expectEqual(try await bench.store.fire(bench.firing(planned), now: bench.now), .stale)
            _ = try await bench.store.setPaused(false, schedule: "nightly", now: bench.now)
            let again = try await bench.planned("nightly", in: .seconds(5))
            try expectEqual(again.nextAt, planned.nextAt)
            try expectEqual(try await bench.store.fire(bench.firing(planned), now: bench.now), .stale)
            try await bench.change(DefinitionChange(scheduleRemovals: ["nightly"]))
            try expectEqual(try await bench.store.fire(bench.firing(again), now: bench.now), .stale)
            try expectEqual(try await bench.store.jobs(JobFilter()), [])
        },
        Check("aTimeIsSkippedWhileTheLastJobIsOpen") { bench in
            try await bench.planNightly(in: .seconds(1))
            let first = try await bench.fired("nightly")
            try expectEqual(
                try await bench.fire("nightly"), .skipped(lastJob: first.jobs[0], lastGraph: nil))
            let record = try await bench.scheduleRecord("nightly")
            try expectEqual(record.skippedAt, record.afterAt)
            try expectEqual(record.lastJob, first.jobs[0])
            try await bench.runOne()
            try await bench.fired("nightly")
        },
        Check("aTimeIsSkippedWhileTheLastGraphIsOpen") { bench in
            try await bench.planNightly(in: .seconds(1))
            let graph = NewGraph(
                name: "two", isGraph: true, jobs: [bench.job(), bench.job(after: [.new(0)])])
            let first = try await bench.fired("nightly", graph)
            try await bench.runOne()
            try expectEqual(
                try await bench.fire("nightly", graph), .skipped(lastJob: first.jobs[0], lastGraph: first.graph))
            try await bench.runOne()
            try await bench.fired("nightly", graph)
        },
        Check("overlapIsAllowedWhereTheScheduleSaysSo") { bench in
            try await bench.planNightly(in: .seconds(1), overlap: .allow)
            try await bench.fired("nightly")
            try await bench.fired("nightly")
        },
        Check("aRefusedTimeMovesOnAndItsReasonIsKeptUntilTheNextSuccess") { bench in
            try await bench.planNightly(in: .seconds(1))
            let record = try await bench.scheduleRecord("nightly")
            var firing = bench.firing(record)
            firing.work = .refused("There is no such definition.")
            try expectEqual(
                try await bench.store.fire(firing, now: bench.now), .refused("There is no such definition."))
            try expectEqual(try await bench.store.refusedScheduleCount(), 1)
            try await bench.restart()
            var now = try await bench.scheduleRecord("nightly")
            try expectEqual(now.problem, "There is no such definition.")
            try expectEqual(now.nextAt, firing.timing.nextAt)
            try expectEqual(now.lastAt, nil)
            // A refusal by the store itself has the same effect.
            firing = bench.firing(now)
            firing.work = .enqueue(
                NewGraph(isGraph: false, jobs: [bench.job(after: [.existing(JobID(77))])]))
            guard case .refused = try await bench.store.fire(firing, now: bench.now) else {
                throw Violation(description: "expected a refusal")
            }
            try await bench.fired("nightly")
            now = try await bench.scheduleRecord("nightly")
            try expectEqual(now.problem, nil)
            try expectEqual(try await bench.store.refusedScheduleCount(), 0)
        },
        Check("aPausedScheduleHasNoNextTimeAndItsTimesCountAgainFromItsResumption") { bench in
            try await bench.planNightly(in: .seconds(5))
            let pausedAt = bench.now
            try expectEqual(
                try await bench.store.setPaused(true, schedule: "nightly", now: pausedAt)?.pausedAt, pausedAt)
            bench.advance(.seconds(9))
            // Pausing a second time changes nothing, and neither does a plan.
            let record = try unwrap(try await bench.store.setPaused(true, schedule: "nightly", now: bench.now))
            try expectEqual(record.pausedAt, pausedAt)
            try expectEqual(record.nextAt, nil)
            try await bench.store.plan([ScheduleTiming(record, after: bench.now, nextAt: bench.now + .seconds(1))])
            try expectEqual(try await bench.store.nextScheduleAt(), nil)
            let resumed = try unwrap(try await bench.store.setPaused(false, schedule: "nightly", now: bench.now))
            try expectEqual(resumed.pausedAt, nil)
            try expectEqual(resumed.afterAt, bench.now)
            try expectEqual(try await bench.store.setPaused(true, schedule: "other", now: bench.now), nil)
        },
        Check("runningAScheduleNowLeavesItsTimes") { bench in
            let planned = try await bench.planNightly(in: .seconds(5))
            let graph = NewGraph(isGraph: false, jobs: [bench.job()])
            let outcome = try await bench.store.run(schedule: "nightly", graph, now: bench.now)
            guard case .enqueued(let receipt)? = outcome else { throw Violation(description: "expected it to run") }
            let record = try await bench.scheduleRecord("nightly")
            try expectEqual(record.nextAt, planned.nextAt)
            try expectEqual(record.lastAt, nil)
            try expectEqual(record.lastJob, receipt.jobs[0])
            // The run counts as the schedule's last firing.
            try expectEqual(
                try await bench.fire("nightly"), .skipped(lastJob: receipt.jobs[0], lastGraph: nil))
            try expectEqual(try await bench.store.run(schedule: "other", graph, now: bench.now), nil)
        },
        Check("aPrunedLastJobIsNoReasonToSkip") { bench in
            try await bench.planNightly(in: .seconds(1))
            try await bench.fired("nightly")
            try await bench.runOne()
            try expectEqual(try await bench.pruneAfterASecond(), 1)
            try await bench.fired("nightly")
        },
    ]
}

extension Workbench {
    func schedule(
        _ name: String, isPersistent: Bool = false, overlap: Schedule.Overlap = .skip
    ) throws -> Schedule {
        Schedule(
            name: name, summary: "Steps.",
            calendar: [try CalendarExpression("daily"), try CalendarExpression("*:0/5 UTC")],
            definition: "step", input: JSONText("{\"x\":1}"), queue: "default", priority: .high,
            isPersistent: isPersistent, overlap: overlap)
    }

    func scheduleRecord(_ name: String) async throws -> ScheduleRecord {
        try unwrap(try await store.schedules().first { $0.schedule.name == name }, "schedule \(name)")
    }

    /// Plans the next time of a schedule.
    /// Writes the schedule `nightly` and plans its next time.
    @discardableResult
    func planNightly(in wait: Duration, overlap: Schedule.Overlap = .skip) async throws -> ScheduleRecord {
        try await change(DefinitionChange(schedules: [schedule("nightly", overlap: overlap)]))
        return try await planned("nightly", in: wait)
    }

    @discardableResult
    func planned(_ name: String, in wait: Duration) async throws -> ScheduleRecord {
        let record = try await scheduleRecord(name)
        try await store.plan([ScheduleTiming(record, after: now, nextAt: now + wait)])
        let planned = try await scheduleRecord(name)
        try expectEqual(planned.nextAt, now + wait)
        return planned
    }

    /// The firing of a schedule for its current next time, after which the next one is `next` later.
    func firing(_ record: ScheduleRecord, next: Duration = .seconds(1), _ graph: NewGraph? = nil) -> ScheduleFiring {
        let time = record.nextAt ?? now
        return ScheduleFiring(
            ScheduleTiming(record, after: time, nextAt: time + next),
            .enqueue(graph ?? NewGraph(isGraph: false, jobs: [job()])))
    }

    func fire(_ name: String, _ graph: NewGraph? = nil) async throws -> FiringOutcome {
        try await store.fire(firing(scheduleRecord(name), graph), now: now)
    }

    @discardableResult
    func fired(_ name: String, _ graph: NewGraph? = nil) async throws -> EnqueueReceipt {
        try receipt(of: try await fire(name, graph))
    }

    func receipt(of outcome: FiringOutcome) throws -> EnqueueReceipt {
        guard case .fired(let receipt) = outcome else {
            throw Violation(description: "expected the schedule to fire, found \(outcome)")
        }
        return receipt
    }
}
