import CalendarEvents
import Jobs
import Logging
import Synchronization

/// Fires the schedules of one store at their times, until its task is cancelled.
///
/// It sleeps until the next time, and wakes when a schedule changes or the clock is set (P10). The store ensures that a
/// schedule fires only once for each time; see `JobStore.fire(_:now:)`. ``ScheduleRule`` calculates the next time.
public final class ScheduleRunner: Sendable {
    /// Plans the work of a schedule with the current definitions.
    public typealias Planner = @Sendable (Schedule) async throws(StoreError) -> ScheduledWork

    private let store: any JobStore
    private let logger: Logger
    private let clock: any AlarmClock<Timestamp>
    private let zone: Zone
    private let work: Planner
    private let onChange: @Sendable () -> Void
    private let isDrained: @Sendable () async throws(StoreError) -> Bool
    private let wakeups: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    private struct State {
        /// Whether a schedule was changed or the clock was set since the last planning.
        var isStale = false
        var armedAt: Timestamp?
        var rules: [String: KnownRule] = [:]
        /// The logged reasons why schedules have no times, by schedule name.
        var loggedProblems: [String: String] = [:]
        /// The unfinished jobs that were logged as the reason for skipping times, by schedule name.
        var busy: [String: JobID] = [:]
        /// When to check schedules with an unreadable time zone again.
        var checkAgainAt: Timestamp?
    }

    private struct KnownRule {
        /// The complete schedule, for comparison: after a removal, a new schedule may have the same name and revision.
        var schedule: Schedule
        var rule: ScheduleRule
    }

    private enum Reading {
        case times(ScheduleRule)
        /// The stored form is invalid, and stays so until the schedule is written again.
        case unreadable
        /// The time zone could not be loaded. This may be temporary, so the result is not cached.
        case noZone(problem: String)
    }

    /// The wait before a retry when the store was busy or the disk was full.
    private static let retryAfter = Duration.seconds(5)
    /// The wait before a time zone that could not be loaded is tried again.
    private static let checkAgainAfter = Duration.seconds(3600)
    /// The wait before a drained daemon checks whether it was resumed.
    private static let checkDrainedAfter = Duration.seconds(60)
    /// The beginning of a stored problem that is removed when the time zone can be loaded.
    private static let noTimes = "It has no times: "

    /// Creates a runner of schedules.
    ///
    /// - Parameters:
    ///   - zone: The time zone for expressions that do not name one.
    ///   - clock: This machine's wall clock. The store's clock decides (``StoreWallClock``).
    ///   - onChange: Called after each round that may have fired or planned times, once the alarm is set for the next
    ///     one.
    ///   - isDrained: Returns whether other daemons are to fire the schedules for now. Asked when one is due. Default:
    ///     false.
    ///   - work: Plans the work of a schedule whose time has come.
    public init(
        store: any JobStore, logger: Logger, zone: Zone, clock: any AlarmClock<Timestamp> = SystemWallClock(),
        onChange: @escaping @Sendable () -> Void = {},
        isDrained: @escaping @Sendable () async throws(StoreError) -> Bool = { false }, work: @escaping Planner
    ) {
        self.store = store
        self.logger = logger
        self.zone = zone
        self.clock = StoreWallClock(clock, store)
        self.onChange = onChange
        self.isDrained = isDrained
        self.work = work
        (wakeups, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Plans every schedule. Times that passed while no daemon ran are made up for or skipped. Call it once, before
    /// ``run()``.
    ///
    /// - Throws: ``StoreError``. Calling it again is safe.
    public func prepare() async throws(StoreError) { try await planAll(.start) }

    /// Fires schedules until the task is cancelled. Call it only once.
    ///
    /// - Throws: ``StoreError`` if the store is unusable until the next start, or an error of the clock if no timer can
    ///   be created.
    public func run() async throws {
        let observation = store.observe { [weak self] change in
            switch change {
            case .schedules, .missed: self?.wake(isStale: true)
            // The daemon may have been resumed.
            case .holders: self?.wake(isStale: false)
            case .jobs, .accepted, .work, .queues, .definitions, .condition, .stopped: break
            }
        }
        defer { observation.cancel() }
        let alarm = try clock.alarm { [weak self] in self?.alarmRang() }
        defer { alarm.set(nil) }
        // Schedules may have changed before the observation began.
        wake(isStale: true)
        var problem: StoreError?
        for await _ in wakeups {
            do throws(StoreError) {
                let next = try await fireDue()
                if problem != nil { logger.notice("schedules fire again") }
                problem = nil
                set(alarm, next)
                onChange()
            } catch {
                // After an answer that was lost, the schedules are read again, and show what was stored.
                guard error.isPassing else { throw error }
                if problem == nil {
                    logger.error(
                        "schedules cannot fire now; trying again: \(error)", metadata: ["HALYARD_ERROR": "\(error)"])
                }
                problem = error
                state.withLock { $0.isStale = true }
                set(alarm, clock.now + Self.retryAfter)
            }
        }
    }

    private func wake(isStale: Bool) {
        if isStale { state.withLock { $0.isStale = true } }
        ring.yield()
    }

    private func alarmRang() {
        let now = clock.now
        state.withLock { state in
            // An early ring means that the clock was set (S4). So does a ring during a round, when the alarm is not set:
            // that round may have used the clock's old time for its plan.
            if state.armedAt.map({ now < $0 }) ?? true { state.isStale = true }
            state.armedAt = nil
        }
        ring.yield()
    }

    private func set(_ alarm: any Alarm<Timestamp>, _ moment: Timestamp?) {
        state.withLock { $0.armedAt = moment }
        alarm.set(moment)
    }

    // MARK: One round

    /// Fires the schedules that are due. Returns the next time to wake up; nil if there is none or the task is
    /// cancelled.
    private func fireDue() async throws(StoreError) -> Timestamp? {
        // Checks for cancellation each time, because new times may come as fast as schedules fire.
        while !Task.isCancelled {
            if takeStale() { try await planAll(.running) }
            let due = try await store.schedules(due: clock.now, limit: 100)
            if due.isEmpty {
                let next = try await store.nextScheduleAt()
                let checkAgainAt = state.withLock { $0.checkAgainAt }
                return [next, checkAgainAt].compactMap(\.self).min()
            }
            // A notification that this daemon was resumed may be lost.
            if try await isDrained() { return clock.now + Self.checkDrainedAfter }
            for record in due {
                if Task.isCancelled { return nil }
                try await fire(record)
            }
        }
        return nil
    }

    private func takeStale() -> Bool {
        let now = clock.now
        return state.withLock { state in
            defer { state.isStale = false }
            if let checkAgainAt = state.checkAgainAt, checkAgainAt <= now { return true }
            return state.isStale
        }
    }

    private func planAll(_ occasion: ScheduleRule.Occasion) async throws(StoreError) {
        let records = try await store.schedules()
        let names = Set(records.map(\.schedule.name))
        state.withLock { state in
            state.rules = state.rules.filter { names.contains($0.key) }
            state.loggedProblems = state.loggedProblems.filter { names.contains($0.key) }
            state.busy = state.busy.filter { names.contains($0.key) }
            state.checkAgainAt = nil
        }
        var timings: [ScheduleTiming] = []
        for record in records where record.pausedAt == nil {
            let rule: ScheduleRule
            switch read(record) {
            case .times(let known): rule = known
            case .unreadable: continue
            case .noZone(let problem):
                if record.problem != problem {
                    var timing = ScheduleTiming(record, after: record.afterAt, nextAt: record.nextAt)
                    timing.problem = .write(problem)
                    timings.append(timing)
                }
                continue
            }
            let plan = rule.plan(after: record.afterAt, now: clock.now, sinceLast: record.sinceLast, occasion)
            let isMended = record.problem?.hasPrefix(Self.noTimes) ?? false
            if plan.nextAt != record.nextAt || plan.after != record.afterAt || isMended {
                var timing = ScheduleTiming(record, after: plan.after, nextAt: plan.nextAt)
                if isMended { timing.problem = .write(nil) }
                timings.append(timing)
            }
            if let missedAt = plan.missedAt {
                log(
                    .notice,
                    "missed its times since \(zone.text(missedAt)): no daemon was running, and the schedule is not persistent",
                    record, "schedule-missed", ["HALYARD_TIME": "\(missedAt.iso8601)"])
            }
        }
        if !timings.isEmpty { try await store.plan(timings) }
    }

    private func read(_ record: ScheduleRecord) -> Reading {
        let name = record.schedule.name
        if let reason = record.unreadable {
            logOnce(reason, record)
            return .unreadable
        }
        if let known = state.withLock({ $0.rules[name] }), known.schedule == record.schedule {
            return .times(known.rule)
        }
        do throws(ZoneProblem) {
            let rule = ScheduleRule(
                times: try record.schedule.times(local: zone), isPersistent: record.schedule.isPersistent)
            let known = KnownRule(schedule: record.schedule, rule: rule)
            state.withLock { state in
                state.rules[name] = known
                state.loggedProblems[name] = nil
            }
            return .times(rule)
        } catch {
            let reason = "\(error)"
            logOnce(reason, record)
            let again = clock.now + Self.checkAgainAfter
            state.withLock { state in state.checkAgainAt = min(state.checkAgainAt ?? again, again) }
            return .noZone(problem: "\(Self.noTimes)\(reason).")
        }
    }

    /// Logs a reason once, not every time the schedule is read.
    private func logOnce(_ reason: String, _ record: ScheduleRecord) {
        let name = record.schedule.name
        let known = state.withLock { state in state.loggedProblems.updateValue(reason, forKey: name) }
        if known != reason { log(.error, "refused: it cannot fire: \(reason)", record, "schedule-refused", [:]) }
    }

    private func fire(_ record: ScheduleRecord) async throws(StoreError) {
        // A schedule without times must not stay due.
        var idle = ScheduleTiming(record, after: record.afterAt, nextAt: nil)
        let rule: ScheduleRule
        switch read(record) {
        case .times(let known): rule = known
        case .unreadable: return try await store.plan([idle])
        case .noZone(let problem):
            idle.problem = .write(problem)
            return try await store.plan([idle])
        }
        guard let time = record.nextAt else { return try await store.plan([idle]) }
        let last = max(record.lastAt ?? record.updatedAt, record.skippedAt ?? record.updatedAt, record.updatedAt)
        let moment = clock.now
        // S4
        if !rule.isLate(time, since: last, now: moment, sinceLast: record.sinceLast) {
            let plan = rule.plan(skippingUntil: moment, last: last, sinceLast: record.sinceLast)
            return try await store.plan([ScheduleTiming(record, after: plan.after, nextAt: plan.nextAt)])
        }
        let work = try await work(record.schedule)
        let now = clock.now
        let plan = rule.plan(firing: time, now: now)
        let firing = ScheduleFiring(ScheduleTiming(record, after: plan.after, nextAt: plan.nextAt), work)
        switch try await store.fire(firing, now: now) {
        case .fired(let receipt):
            var fields: Logger.Metadata = ["HALYARD_TIME": "\(time.iso8601)"]
            if let graph = receipt.graph { fields["HALYARD_GRAPH"] = "\(graph)" }
            if receipt.graph == nil, let job = receipt.jobs.first { fields["HALYARD_JOB"] = "\(job)" }
            let isLate = time + ScheduleRule.grace < now
            log(
                .info, isLate ? "fired late, once for all its times since \(zone.text(time))" : "fired",
                record, "schedule-fired", fields)
        case .skipped(let job, let graph):
            let last = graph.map { "graph \($0)" } ?? "job \(job)"
            let name = record.schedule.name
            // Logged once for each job, not every minute.
            let logged = state.withLock { $0.busy.updateValue(job, forKey: name) }
            log(
                logged == job ? .debug : .info,
                "skips its times until \(last), which it enqueued last, is final", record,
                "schedule-skipped", ["HALYARD_TIME": "\(time.iso8601)"])
        case .refused(let reason):
            // Logged once, not every minute.
            let level: Logger.Level = reason == record.problem ? .debug : .error
            log(
                level, "could not enqueue: \(reason)", record, "schedule-refused",
                ["HALYARD_TIME": "\(time.iso8601)"])
        case .stale: break
        }
    }

    private func log(
        _ level: Logger.Level, _ message: String, _ record: ScheduleRecord, _ event: String,
        _ fields: Logger.Metadata
    ) {
        let own: Logger.Metadata = [
            "HALYARD_EVENT": "\(event)", "HALYARD_SCHEDULE": "\(record.schedule.name)",
        ]
        logger.log(
            level: level, "schedule \(record.schedule.name): \(message)",
            metadata: own.merging(fields) { own, _ in own })
    }
}
