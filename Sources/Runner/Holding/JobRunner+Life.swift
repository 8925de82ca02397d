import Jobs
import Logging
import Synchronization

extension JobRunner {
    /// Begins the runner's first life, unless it has begun. ``run()`` does this too; call it earlier to register kinds
    /// under the number of the life.
    ///
    /// - Returns: The number of the current life, or of the last one.
    /// - Throws: ``StoreError``. Calling it again is safe.
    @discardableResult
    public func begin() async throws(StoreError) -> HolderID {
        if let known = lastHolder { return known }
        let sentAt = lifeClock.now
        let life = try await store.begin(holder, now: wallClock.now)
        // The rescue that follows belongs to `run()`, which reports how the last process ended.
        handle(.began(life, sentAt: sentAt))
        return life.id
    }

    /// Begins a life and rescues the jobs of the last process.
    func serve() async throws(StoreError) {
        try await begin()
        // A life that has lapsed since it began is followed by the next one, whose rescue is an event.
        guard let id = core.withLock({ $0.life.takeFirstRescue() }) else { return }
        try await rescueOrphans(by: id)
        handle(LifeLoop.Event.rescued)
    }

    func openLifeAlarm() throws {
        // L7
        if store.capabilities.holders == .one { return }
        try lifeAlarm.open(lifeClock) { [weak self] in self?.handle(LifeLoop.Event.alarm) }
        handle(LifeLoop.Event.alarm)
    }

    /// Passes an event to the life, and its consequences to the claim loop, in one step, so that they keep their order.
    func handle(_ event: LifeLoop.Event) {
        let now = lifeClock.now
        let uptime = uptimeClock.now
        let (lifeActions, actions, task) = core.withLock { core in
            let lifeActions = core.life.handle(event, now: now)
            if let holder = core.life.holder { core.lastHolder = holder }
            var actions: [ClaimLoop.Action] = []
            for action in lifeActions {
                switch action {
                case .serve(let id): actions += core.loop.handle(.holds(id), now: uptime)
                case .lapse(_, let limit): actions += core.loop.handle(.lapsed(limit: limit), now: uptime)
                case .fail(let error): actions += core.loop.handle(.storeFailed(error), now: uptime)
                case .begin, .renew, .rescue: break
                }
            }
            for case .end(let failure) in actions { core.failure = failure }
            core.armed = core.alarms
            let isAwake = core.loop.wantsExchange || core.loop.hasEnded
            return (lifeActions, actions, isAwake ? core.parked.take() : nil)
        }
        for action in lifeActions { perform(action) }
        for action in actions { perform(action) }
        task?.resume()
        setAlarms()
        lifeAlarm.set { core.withLock(\.life.alarmAt) }
    }

    /// The current life, or the last one; nil before the first one.
    var lastHolder: HolderID? { core.withLock(\.lastHolder) }

    var knownLeases: Set<Lease> { core.withLock(\.loop.knownLeases) }

    /// Says goodbye, so that others need not wait for the end of the life.
    func leave() async {
        guard let id = lastHolder else { return }
        handle(LifeLoop.Event.leave)
        do throws(StoreError) {
            try await store.leave(id, now: wallClock.now)
        } catch {
            // Nothing is lost: all ends are recorded, and the life ends by itself.
            report.logger.debug("could not say goodbye to the store: \(error)")
        }
    }

    func perform(_ action: LifeLoop.Action) {
        switch action {
        case .begin:
            // Nothing awaits this task: it ends with an event.
            Task(priority: .high) {
                do throws(StoreError) {
                    let sentAt = lifeClock.now
                    let life = try await store.begin(holder, now: wallClock.now)
                    report.logger.notice(
                        "takes jobs again, with lease \(life.id)", metadata: ["HALYARD_EVENT": "life-began"])
                    handle(LifeLoop.Event.began(life, sentAt: sentAt))
                } catch {
                    handle(LifeLoop.Event.beginFailed(error))
                }
            }
        case .renew(let id):
            // Nothing awaits this task: it ends with an event.
            Task(priority: .high) {
                do throws(StoreError) {
                    let sentAt = lifeClock.now
                    let renewal = try await store.renew(id, now: wallClock.now)
                    handle(LifeLoop.Event.renewed(renewal, of: id, sentAt: sentAt))
                } catch {
                    handle(LifeLoop.Event.renewalFailed(error, of: id))
                }
            }
        case .rescue(let id):
            // Nothing awaits this task: it ends with an event.
            Task(priority: .high) {
                do throws(StoreError) {
                    try await rescueOrphans(by: id)
                    handle(LifeLoop.Event.rescued)
                } catch {
                    handle(.rescueFailed(error))
                }
            }
        case .lapse:
            report.logger.warning(
                "its lease could not be renewed in time: stops its attempts, and other daemons may run their jobs",
                metadata: ["HALYARD_EVENT": "life-lapsed"])
        // Passed to the claim loop already.
        case .serve, .fail: break
        }
    }

    /// Settles an exchange whose answer was lost: reads from the store whether it was committed.
    ///
    /// - Returns: The lost answer; nil if the exchange was undone.
    func answer(to lost: ClaimLoop.Batch) async throws(StoreError) -> Exchange? {
        let held = try await store.held(by: lost.holder)
        let ended = Set(lost.ends.map(\.attempt.lease))
        if held.contains(where: { ended.contains($0.lease) }) { return nil }
        let known = knownLeases
        let claimed = held.filter { !known.contains($0.lease) }
        if ended.isEmpty, claimed.isEmpty { return nil }
        var finished: [FinishResult] = []
        for end in lost.ends { finished.append(try await result(of: end)) }
        return Exchange(finished: finished, claimed: claimed, nextDueAt: wallClock.now)
    }

    private func result(of end: EndedAttempt) async throws(StoreError) -> FinishResult {
        let lease = end.attempt.lease
        let record = try await store.attempts(of: lease.job).first { $0.lease == lease }
        guard let record, let job = try await store.job(lease.job) else { return .leaseLost }
        switch (record.outcome, end.ending) {
        case (.succeeded, _): return .recorded(.succeeded)
        // A rescue has ended the attempt.
        case (.crashed, .crashed), (.interrupted, .interrupted): return .recorded(job.state)
        case (.crashed, _), (.interrupted, _): return .leaseLost
        default: return .recorded(job.state)
        }
    }
}
