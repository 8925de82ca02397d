import CalendarEvents
import Jobs
import Logging
import Synchronization

/// Fires the schedules of one store when their times come, until its task is cancelled.
///
/// It sleeps until the next time, and wakes when a schedule changes or the clock is set (P10). What makes a time fire
/// once is the store's: see `JobStore.fire(_:now:)`. What the next time is, ``ScheduleRule`` decides.
public final class Scheduler: Sendable {
    /// Says what a schedule enqueues, by the definitions as they are.
    public typealias Planner = @Sendable (Schedule) async throws(StoreError) -> ScheduledWork

    private let store: any JobStore
    private let logger: Logger
    private let clock: any AlarmClock<Timestamp>
    private let zone: Zone
    private let work: Planner
    private let onChange: @Sendable () -> Void
    private let bell: AsyncStream<Void>
    private let ring: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    private struct State {
        /// A schedule was changed, or the clock was set.
        var isStale = false
        var armedAt: Timestamp?
        var rules: [String: KnownRule] = [:]
    }

    private struct KnownRule {
        var revision: Int
        /// Nil when it has no times.
        var rule: ScheduleRule?
    }

    /// After a store that is busy or full.
    private static let retryAfter = Duration.seconds(5)

    /// - Parameters:
    ///   - zone: Of expressions that name none.
    ///   - onChange: Called after times may have come or changed, when the alarm is set for the next one.
    public init(
        store: any JobStore, logger: Logger, zone: Zone, clock: any AlarmClock<Timestamp> = SystemWallClock(),
        onChange: @escaping @Sendable () -> Void = {}, work: @escaping Planner
    ) {
        self.store = store
        self.logger = logger
        self.zone = zone
        self.clock = clock
        self.onChange = onChange
        self.work = work
        (bell, ring) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Plans every schedule: what came while no daemon ran is made up for or left out. To be called once, before
    /// ``run()``.
    public func prepare() async throws(StoreError) { try await planAll(.start) }

    /// Fires until the task is cancelled. To be called once.
    ///
    /// - Throws: ``StoreError`` when the store can only be used after a new start; an error of the clock when no timer can
    ///   be opened.
    public func run() async throws {
        let observation = store.observe { [weak self] change in
            if case .schedules = change { self?.wake(isStale: true) }
        }
        defer { observation.cancel() }
        let alarm = try clock.alarm { [weak self] in self?.alarmRang() }
        defer { alarm.set(nil) }
        // What changed before the observation began.
        wake(isStale: true)
        var problem: StoreError?
        for await _ in bell {
            do throws(StoreError) {
                let next = try await turn()
                if problem != nil { logger.notice("schedules fire again") }
                problem = nil
                set(alarm, next)
                onChange()
            } catch {
                guard error.isTransient else { throw error }
                if problem == nil {
                    logger.error(
                        "schedules cannot fire now; trying again", metadata: ["HALYARD_ERROR": "\(error)"])
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
            // Rung early, the clock was set. (S4)
            if let armedAt = state.armedAt, now < armedAt { state.isStale = true }
            state.armedAt = nil
        }
        ring.yield()
    }

    private func set(_ alarm: any Alarm<Timestamp>, _ moment: Timestamp?) {
        state.withLock { $0.armedAt = moment }
        alarm.set(moment)
    }

    // MARK: One turn

    /// Fires what is due; returns when the next time comes.
    private func turn() async throws(StoreError) -> Timestamp? {
        while true {
            if takeStale() { try await planAll(.running) }
            let due = try await store.schedules(due: clock.now, limit: 100)
            if due.isEmpty { return try await store.nextScheduleAt() }
            for record in due { try await fire(record) }
        }
    }

    private func takeStale() -> Bool {
        state.withLock { state in
            defer { state.isStale = false }
            return state.isStale
        }
    }

    private func planAll(_ occasion: ScheduleRule.Occasion) async throws(StoreError) {
        let records = try await store.schedules()
        let names = Set(records.map(\.schedule.name))
        state.withLock { $0.rules = $0.rules.filter { names.contains($0.key) } }
        var timings: [ScheduleTiming] = []
        for record in records where record.pausedAt == nil {
            guard let rule = rule(of: record) else { continue }
            let plan = rule.plan(after: record.after, now: clock.now, occasion)
            if plan.nextAt != record.nextAt || plan.after != record.after {
                timings.append(ScheduleTiming(record, after: plan.after, nextAt: plan.nextAt))
            }
            if let missedAt = plan.missedAt {
                log(
                    .notice, "schedule missed its time: no daemon ran", record, "schedule-missed",
                    ["HALYARD_TIME": "\(missedAt.iso8601)"])
            }
        }
        if !timings.isEmpty { try await store.plan(timings) }
    }

    /// Nil when it cannot be read; it then has no next time.
    private func rule(of record: ScheduleRecord) -> ScheduleRule? {
        let name = record.schedule.name
        if let known = state.withLock({ $0.rules[name] }), known.revision == record.revision { return known.rule }
        var rule: ScheduleRule?
        var reason = record.unreadable
        if reason == nil {
            do throws(ZoneProblem) {
                rule = ScheduleRule(
                    times: try record.schedule.times(local: zone), isPersistent: record.schedule.isPersistent)
            } catch {
                reason = "\(error)"
            }
        }
        state.withLock { $0.rules[name] = KnownRule(revision: record.revision, rule: rule) }
        if let reason { log(.error, "schedule has no times: \(reason)", record, "schedule-refused", [:]) }
        return rule
    }

    private func fire(_ record: ScheduleRecord) async throws(StoreError) {
        guard let rule = rule(of: record), let time = record.nextAt else {
            // Without times it must not stay due.
            return try await store.plan([ScheduleTiming(record, after: record.after, nextAt: nil)])
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
            log(.info, "schedule fired", record, "schedule-fired", fields)
        case .skipped(let job, let graph):
            let last = graph.map { "graph \($0)" } ?? "job \(job)"
            log(
                .info, "schedule left out a time: \(last) is not final", record, "schedule-skipped",
                ["HALYARD_TIME": "\(time.iso8601)"])
        case .refused(let reason):
            // Told once, not every minute.
            let level: Logger.Level = reason == record.problem ? .debug : .error
            log(
                level, "schedule could not enqueue: \(reason)", record, "schedule-refused",
                ["HALYARD_TIME": "\(time.iso8601)"])
        case .stale: break
        }
    }

    private func log(
        _ level: Logger.Level, _ message: Logger.Message, _ record: ScheduleRecord, _ event: String,
        _ fields: Logger.Metadata
    ) {
        let own: Logger.Metadata = [
            "HALYARD_EVENT": "\(event)", "HALYARD_SCHEDULE": "\(record.schedule.name)",
        ]
        logger.log(level: level, message, metadata: own.merging(fields) { own, _ in own })
    }
}
