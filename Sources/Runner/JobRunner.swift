import Jobs
import Logging
import OperationTypes
import Synchronization

/// Runs the jobs of one store until it is asked to stop.
///
/// A single claim loop communicates with the store. In one transaction, it records the attempts that have ended and
/// claims jobs that can run. It sleeps when there is nothing to record and nothing to claim, and wakes when the store
/// reports a change or the next scheduled job is due (P10).
///
/// An operation may run more than once (P5), but its result is recorded once (P3).
public final class JobRunner: Sendable {
    /// Plans a job that a running job enqueues, with the same checks as for any other request.
    public typealias ChildPlanner = @Sendable (ChildJob) async throws(JobFailure) -> NewGraph

    /// Changes and progress of jobs, as they happen.
    public let events = JobEvents()

    let store: any JobStore
    let holder: Holder
    let planChild: ChildPlanner
    let wallClock: any AlarmClock<Timestamp>
    let uptimeClock: any AlarmClock<Duration>
    let lifeClock: any AlarmClock<Duration>
    let report: AttemptReport
    let inForce: Mutex<KindsInForce>
    /// The number of counted crashes that a job may cause (``RunnerSettings/maxRescues``).
    package let maxRescues: Int
    let log: JobLog
    private let conditionLog: StoreConditionLog
    let random: @Sendable () -> Double
    private let beforeEachExchange: (@Sendable () async -> Void)?
    let core: Mutex<Core>
    private let alarms = LoopAlarms()
    let lifeAlarm = LifeAlarm()
    private let abandonedNote = Mutex(())
    let saves = Mutex(SaveLine())
    let ready = Latch<Bool>()
    let ended = Latch<Bool>()

    /// The kinds that this runner runs, which ``use(_:)`` exchanges.
    struct KindsInForce {
        var registry: KindRegistry
        /// The worker programs that run kinds.
        var hosts: [any KindHost]
        /// The number of exchanges so far.
        var revision = 0

        init(_ registry: KindRegistry) {
            self.registry = registry
            hosts = registry.hosts
        }
    }

    /// The state shared by the claim loop's task and the threads that send it events.
    struct Core {
        var loop: ClaimLoop
        var life: LifeLoop
        /// The current life, or the last one.
        var lastHolder: HolderID?
        /// How the runner's own life before the current one ended.
        var lastEnd: LastEnd
        /// The claim loop's task while it has nothing to do.
        var parked: CheckedContinuation<Void, Never>?
        var armed = LoopAlarms.Moments()
        var failure: StoreError?

        var alarms: LoopAlarms.Moments { .init(wall: loop.wallAlarmAt, uptime: loop.uptimeAlarmAt) }
    }

    /// Creates a runner, which does nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - holder: The holder as which the runner claims jobs. No other process may use the same identity.
    ///   - lastEnd: How the last process that ran jobs of this store ended.
    ///   - random: Returns uniform random numbers in `0..<1`, for the jitter of retries.
    ///   - beforeEachExchange: Awaited by the claim loop before each exchange, so that tests can delay it.
    ///   - planChild: Plans the jobs that running jobs enqueue.
    public init(
        store: any JobStore, as holder: Holder, kinds: KindRegistry, settings: RunnerSettings = RunnerSettings(),
        after lastEnd: LastEnd = .unexplained, logger: Logger,
        wallClock: any AlarmClock<Timestamp> = SystemWallClock(),
        uptimeClock: any AlarmClock<Duration> = SystemUptimeClock(),
        lifeClock: any AlarmClock<Duration> = SystemBootClock(),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        beforeEachExchange: (@Sendable () async -> Void)? = nil,
        planChild: @escaping ChildPlanner
    ) {
        self.store = store
        self.holder = holder
        self.lifeClock = lifeClock
        inForce = Mutex(KindsInForce(kinds))
        self.planChild = planChild
        self.wallClock = StoreWallClock(wallClock, store)
        self.uptimeClock = uptimeClock
        self.random = random
        self.beforeEachExchange = beforeEachExchange
        maxRescues = settings.maxRescues
        report = AttemptReport(logger: logger)
        log = JobLog(logger: logger)
        conditionLog = StoreConditionLog(logger: logger)
        core = Mutex(Core(loop: ClaimLoop(settings: settings), life: LifeLoop(grace: settings.grace), lastEnd: lastEnd))
    }

    // MARK: Running

    /// Rescues orphans, then claims and runs jobs until ``drain(limit:)`` or ``interrupt()`` is complete. Cancelling the
    /// task has the same effect as ``interrupt()``. Call it only once.
    ///
    /// When it returns, the ends of all attempts have been recorded. If it throws, the running jobs are orphans, which
    /// the next start rescues.
    ///
    /// - Throws: ``StoreError`` if the store is unusable until the next start or could not record the last ends, or an
    ///   error of the clocks if no timer can be created. Start a new runner to retry.
    public func run() async throws {
        defer { finish() }
        let observation = store.observe { [weak self] change in self?.observe(change) }
        defer { observation.cancel() }
        conditionLog.note { store.condition }
        try openAlarms()
        defer { alarms.close() }
        try openLifeAlarm()
        defer { lifeAlarm.close() }
        observeRoom()
        try await serve()
        // The task is awaited below. It is not a child task, so cancelling the caller interrupts the attempts but does
        // not prevent their ends from being recorded. It has a higher priority than the operations, so that they
        // neither take its thread nor delay its proof of progress. It can therefore also record the first ends while
        // the other attempts still run.
        let loop = Task(priority: .high) { try await exchangeUntilEnded() }
        try await withTaskCancellationHandler {
            try await loop.value
        } onCancel: {
            interrupt()
        }
        await leave()
    }

    private func finish() {
        ready.open(with: false)
        ended.open(with: true)
        events.finish()
    }

    private func exchangeUntilEnded() async throws {
        var definitions = PreparedDefinitions()
        var revision = 0
        let now: @Sendable () -> Timestamp = { [wallClock] in wallClock.now }
        while await waitForExchange() {
            await beforeEachExchange?()
            let kinds = inForce.withLock(\.self)
            if kinds.revision != revision { definitions = PreparedDefinitions() }
            revision = kinds.revision
            let room = room(of: kinds)
            guard let batch = core.withLock({ $0.loop.beginExchange(room: room) }) else { continue }
            let startedAt = uptimeClock.now
            let answer: Exchange
            do throws(StoreError) {
                guard let found = try await self.answer(for: batch) else {
                    handle(.exchangeUndone)
                    continue
                }
                answer = found
            } catch {
                handle(.exchangeFailed(error))
                continue
            }
            if !answer.isAlive { handle(LifeLoop.Event.ended(batch.holder)) }
            var claimed: [RunningAttempt] = []
            claimed.reserveCapacity(answer.claimed.count)
            do throws(StoreError) {
                for job in answer.claimed {
                    let definition = try await definitions.prepare(job.definition, from: store, kinds.registry)
                    claimed.append(
                        RunningAttempt(
                            job: job, by: batch.holder, definition: definition, connections: ConnectionLog(now: now)))
                }
            } catch {
                // The exchange is stored, so the jobs are claimed.
                handle(error.isPassing ? .answerLost : .storeFailed(error))
                continue
            }
            handle(.exchanged(answer, claimed))
            ready.open(with: true)
            report.exchanged(in: uptimeClock.now - startedAt)
            for (ended, result) in zip(batch.ends, answer.finished) where result == .recorded(.succeeded) {
                ended.attempt.definition.kind?.didSucceed(ended.attempt.lease)
            }
            report.ended(batch.ends, answer.finished)
        }
        if let failure = core.withLock(\.failure) { throw failure }
    }

    /// Sends an exchange, or asks for the answer of one whose answer was lost. Nil if that one was undone.
    private func answer(for batch: ClaimLoop.Batch) async throws(StoreError) -> Exchange? {
        if batch.isLost { return try await answer(to: batch) }
        return try await store.exchange(
            batch.ends.map(\.end), claim: batch.claim, by: batch.holder, now: wallClock.now)
    }

    /// The number of jobs that the worker programs can begin now, and the jobs that other daemons must run.
    private func room(of kinds: KindsInForce) -> ClaimLoop.Room {
        var room = ClaimLoop.Room()
        room.queues = holder.queues.map(Set.init)
        room.only = holder.kinds.map(Set.init)
        // A daemon that has the store to itself ends the jobs of unknown kinds with an error.
        if store.capabilities.holders == .many {
            let own = Set(kinds.registry.all.map(\.description.name))
            room.only = room.only?.intersection(own) ?? own
        }
        if kinds.hosts.isEmpty { return room }
        for kind in kinds.registry.all {
            guard let host = kind.host else { continue }
            let name = kind.description.name
            room.kinds[name] = host.room
            // Room in the probes of one worker is of no use to the suspects of another.
            if let suspects = host.roomForSuspects { room.suspectKinds[name] = suspects }
        }
        for host in kinds.hosts {
            if let suspects = host.roomForSuspects { room.suspects = (room.suspects ?? 0) + suspects }
        }
        return room
    }

    func observeRoom() {
        for host in inForce.withLock(\.hosts) { host.observeRoom { [weak self] in self?.handle(.wake) } }
    }

    /// Waits until an exchange is wanted; returns false if the loop has ended. The caller takes the batch only after
    /// this returns, so that the batch includes attempts that end before this task gets a thread.
    private func waitForExchange() async -> Bool {
        await withCheckedContinuation { task in
            let isWanted = core.withLock { core in
                if core.loop.wantsExchange || core.loop.hasEnded { return true }
                core.parked = task
                return false
            }
            if isWanted { task.resume() }
        }
        return !core.withLock { $0.loop.hasEnded }
    }

    // MARK: Events and actions

    func handle(_ event: ClaimLoop.Event) {
        let now = uptimeClock.now
        let (actions, task, areAlarmsStale) = core.withLock { core in
            let actions = core.loop.handle(event, now: now)
            for case .end(let failure) in actions { core.failure = failure }
            let wanted = core.alarms
            let areStale = wanted != core.armed
            core.armed = wanted
            let isAwake = core.loop.wantsExchange || core.loop.hasEnded
            return (actions, isAwake ? core.parked.take() : nil, areStale)
        }
        for action in actions { perform(action) }
        flushHosts(of: actions)
        task?.resume()
        if areAlarmsStale { setAlarms() }
    }

    /// Lets the hosts send the attempts that were just started.
    private func flushHosts(of actions: [ClaimLoop.Action]) {
        var flushed: [any KindHost] = []
        for case .start(let attempt) in actions {
            guard let host = attempt.host, !flushed.contains(where: { $0 === host }) else { continue }
            host.flush()
            flushed.append(host)
        }
    }

    func perform(_ action: ClaimLoop.Action) {
        switch action {
        case .start(let attempt): start(attempt)
        case .stop(let attempt, let reason):
            report.stopping(attempt, reason)
            // Runs closures of the operation, so it must not block the thread of the store or of the timer. The task
            // ends by itself; nothing awaits it.
            Task { attempt.stop(reason) }
        case .abandon(let attempt, let reason, let grace):
            attempt.endProgress()
            dropWaitingSave(of: attempt)
            attempt.host?.abandon(attempt.lease, after: grace)
            noteAbandoned()
            report.abandoned(attempt, reason, after: grace)
        case .dropLateEnd(let attempt):
            noteAbandoned()
            report.returnedLate(attempt)
        case .prepare(let ended): prepare(ended)
        case .lapseOver: handle(LifeLoop.Event.attemptsOver)
        case .prove(let proofs, let isProof): for proof in proofs { proof.open(with: isProof) }
        // The claim loop's task checks for the end by itself.
        case .end: break
        }
    }

    private func prepare(_ ended: EndedAttempt) {
        // Nothing awaits this task: it ends with an event that the claim loop waits for.
        Task(priority: .medium) {
            var ended = ended
            // Losing the error is harmless: the exchange then stores the children itself and reports its own error.
            ended.prepared = try? await store.prepare(ended.ending.children)
            handle(.prepared(ended))
        }
    }

    /// Reports the count to the store. It reads the count while holding a separate lock, so that the last caller
    /// reports the current value.
    private func noteAbandoned() {
        abandonedNote.withLock { _ in
            let (count, holder) = core.withLock { ($0.loop.abandonedCount, $0.lastHolder) }
            if let holder { store.noteAbandoned(count, by: holder) }
        }
    }

    private func observe(_ change: StoreChange) {
        switch change {
        case .queues, .work, .missed: handle(.wake)
        // Jobs keep the revision that they were enqueued with. Accepted jobs are reported again when they are written.
        case .definitions, .schedules, .accepted: break
        // A single holder has no others to rescue from.
        case .holders where store.capabilities.holders == .one: break
        case .holders:
            handle(LifeLoop.Event.othersChanged)
            // The holder may have been drained or resumed.
            handle(.wake)
        case .condition: conditionLog.note { store.condition }
        case .stopped(let error): handle(.storeFailed(error))
        case .jobs(let changes):
            for event in ClaimLoop.Event.events(of: changes) { handle(event) }
            events.publish(changes)
            log.changed(changes)
        }
    }

    // MARK: Alarms

    private func openAlarms() throws {
        try alarms.open(
            wallClock, uptimeClock,
            onWall: { [weak self] in
                guard let self else { return }
                handle(.wallAlarm(wallClock.now))
                setAlarms()
            },
            onUptime: { [weak self] in
                guard let self else { return }
                handle(.uptimeAlarm(random: random()))
                setAlarms()
            })
    }

    func setAlarms() { alarms.set { core.withLock(\.alarms) } }
}
