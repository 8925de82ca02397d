import Jobs

extension Dispatcher {
    enum Event {
        case run(Lease, isSuspect: Bool)
        /// An attempt did not stop within this time.
        case abandon(Lease, after: Duration)
        /// An attempt that waits for a process is no longer wanted. An attempt that was sent stays.
        case withdraw(Lease)
        /// A process is wanted for a check or a clean-up.
        case needed
        case introduced(WorkerID)
        case began(WorkerID, [Lease])
        case ended(WorkerID, Lease)
        case pong(WorkerID, id: Int)
        /// An examination found the process stopped by a signal.
        case stopped(WorkerID)
        /// A process broke the protocol.
        case violated(WorkerID)
        /// A process has exited, or could not be launched.
        case exited(WorkerID)
        case alarm
        /// Later attempts get new processes, because the settings have changed. A rest ends.
        case renew
        /// No attempt begins any more. Processes exit when the attempts in them have ended.
        case retire
        case close
    }

    enum Action: Hashable {
        case launch(WorkerID, isProbe: Bool)
        case send(Lease, WorkerID)
        case ping(WorkerID, id: Int)
        /// Check whether an unresponsive process has been stopped by a signal.
        case examine(WorkerID)
        case drain(WorkerID)
        case kill(WorkerID, KillReason)
        case end(Lease, Fate)
        /// The program rests for this long after its processes died.
        case rest(Duration)
    }

    enum KillReason: Hashable {
        case notIntroduced(after: Duration)
        /// An attempt did not stop within this time.
        case abandonedAttempt(Lease, after: Duration)
        case hung(after: Duration)
        /// The process got attempts and began none of them.
        case beganNothing(after: Duration)
        /// The process broke the protocol; the log says how.
        case violation
        case didNotExit(after: Duration)
    }

    enum Fate: Hashable {
        /// The process died while the attempt ran, together with this number of other attempts.
        case crashed(others: Int, WorkerID)
        case notRun
    }

    /// Handles an event, and returns the actions to perform in order.
    mutating func handle(_ event: Event, now: Duration) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .run(let lease, let isSuspect):
            if isSuspect { suspects.append(lease) } else { waiting.append(lease) }
        case .abandon(let lease, let grace): abandon(lease, after: grace, now, &actions)
        case .withdraw(let lease):
            guard waiting.contains(lease) || suspects.contains(lease) else { break }
            waiting.removeAll { $0 == lease }
            suspects.removeAll { $0 == lease }
            actions.append(.end(lease, .notRun))
        case .needed: isNeeded = true
        case .introduced(let worker): introduced(worker, now)
        case .began(let worker, let leases):
            for lease in leases { noteBegun(lease, in: worker) }
        case .ended(let worker, let lease): ended(lease, in: worker, now, &actions)
        case .pong(let worker, let id):
            if members[worker]?.ping?.id == id {
                members[worker]?.ping = nil
                members[worker]?.isFoundStopped = false
            }
        case .stopped(let worker):
            guard let member = members[worker], member.ping != nil else { break }
            // Somebody may stop a process for a moment, to look at it.
            if member.isFoundStopped { kill(worker, .hung(after: limits.hang), &actions) }
            members[worker]?.isFoundStopped = true
        case .violated(let worker): kill(worker, .violation, &actions)
        case .exited(let worker): exited(worker, now, &actions)
        case .alarm: alarmRang(now, &actions)
        case .renew:
            rest.end()
            replaceAll(now, &actions)
        case .retire:
            isClosed = true
            replaceAll(now, &actions)
        case .close: close(now, &actions)
        }
        if isClosed || rest.isResting(now) {
            endWaiting(&actions)
        } else {
            place(now, &actions)
        }
        return actions
    }

    // MARK: Placing

    private mutating func place(_ now: Duration, _ actions: inout [Action]) {
        if isNeeded, readyWorker == nil, !members.values.contains(where: { $0.isStarting && !$0.isOutdated }) {
            launch(isProbe: false, now, &actions)
        }
        isNeeded = false
        placeWaiting(now, &actions)
        placeSuspects(now, &actions)
    }

    private mutating func placeWaiting(_ now: Duration, _ actions: inout [Action]) {
        if waiting.isEmpty { return }
        var placed = 0
        for lease in waiting {
            guard let worker = leastBusy else { break }
            send(lease, to: worker, now, &actions)
            placed += 1
        }
        waiting.removeFirst(placed)
        // One process more for each full load of attempts that waits.
        let ordinary = members.values.filter { !$0.isProbe && $0.isOpen }
        var starting = ordinary.count { $0.isStarting }
        var count = ordinary.count
        while count < limits.processes, waiting.count > starting * limits.attempts {
            launch(isProbe: false, now, &actions)
            starting += 1
            count += 1
        }
    }

    /// The ready process with the fewest attempts that has room for one more; nil if there is none.
    private var leastBusy: WorkerID? {
        var best: (count: Int, worker: WorkerID)?
        for (worker, member) in members where member.isReady && member.isOpen && !member.isProbe {
            let count = member.attempts.count
            if count < limits.attempts, best.map({ (count, worker) < $0 }) ?? true { best = (count, worker) }
        }
        return best?.worker
    }

    private mutating func placeSuspects(_ now: Duration, _ actions: inout [Action]) {
        while let lease = suspects.first {
            let probes = members.filter { $1.isProbe && $1.isOpen }
            let busy = probes.values.filter { !$0.attempts.isEmpty }
            let long = busy.count { isLong($0, now) }
            guard busy.count - long < limits.probes, busy.count < limits.probes + limits.longProbes else { break }
            guard let idle = probes.filter({ $1.isReady && $1.attempts.isEmpty }).keys.min() else {
                let starting = probes.values.count { $0.isStarting }
                if starting == 0 { launch(isProbe: true, now, &actions) }
                break
            }
            suspects.removeFirst()
            members[idle]?.suspectSince = now
            send(lease, to: idle, now, &actions)
        }
    }

    private mutating func launch(isProbe: Bool, _ now: Duration, _ actions: inout [Action]) {
        lastWorker += 1
        let worker = WorkerID(number: lastWorker)
        members[worker] = Member(
            isProbe: isProbe, phase: .starting(until: now + limits.introduction), launchedAt: now, idleSince: now,
            pingDueAt: now + limits.pingInterval)
        actions.append(.launch(worker, isProbe: isProbe))
    }

    private mutating func send(_ lease: Lease, to worker: WorkerID, _ now: Duration, _ actions: inout [Action]) {
        if members[worker]?.attempts.isEmpty == true { members[worker]?.pingDueAt = now + limits.pingInterval }
        members[worker]?.attempts[lease] = false
        members[worker]?.noteUnbegun(now)
        places[lease] = worker
        actions.append(.send(lease, worker))
    }

    private mutating func endWaiting(_ actions: inout [Action]) {
        for lease in waiting + suspects { actions.append(.end(lease, .notRun)) }
        waiting = []
        suspects = []
        isNeeded = false
    }

    // MARK: The life of a process

    private mutating func introduced(_ worker: WorkerID, _ now: Duration) {
        guard let member = members[worker], member.isStarting else { return }
        members[worker]?.phase = .ready
        members[worker]?.wasReady = true
        members[worker]?.idleSince = now
    }

    private mutating func ended(_ lease: Lease, in worker: WorkerID, _ now: Duration, _ actions: inout [Action]) {
        guard members[worker]?.attempts.removeValue(forKey: lease) != nil else {
            return kill(worker, .violation, &actions)
        }
        members[worker]?.abandoned[lease] = nil
        members[worker]?.suspectSince = nil
        members[worker]?.idleSince = now
        members[worker]?.unbegunSince = nil
        members[worker]?.noteUnbegun(now)
        places[lease] = nil
        rest.attemptEnded()
        letGoIfDone(worker, now, &actions)
    }

    /// Ends a process that gets no more attempts as soon as its last attempt has ended.
    private mutating func letGoIfDone(_ worker: WorkerID, _ now: Duration, _ actions: inout [Action]) {
        guard let member = members[worker], member.isReady || member.isStarting else { return }
        if member.attempts.count == member.abandoned.count, killForAbandoned(worker, &actions) { return }
        if member.isOutdated, member.attempts.isEmpty { drain(worker, now, &actions) }
    }

    private mutating func drain(_ worker: WorkerID, _ now: Duration, _ actions: inout [Action]) {
        members[worker]?.phase = .leaving(until: now + limits.exit)
        actions.append(.drain(worker))
    }

    private mutating func kill(_ worker: WorkerID, _ reason: KillReason, _ actions: inout [Action]) {
        guard let member = members[worker] else { return }
        if case .killed = member.phase { return }
        members[worker]?.phase = .killed
        actions.append(.kill(worker, reason))
    }

    /// Ends a process because of its abandoned attempts.
    ///
    /// - Returns: False if it has none.
    private mutating func killForAbandoned(_ worker: WorkerID, _ actions: inout [Action]) -> Bool {
        guard
            let (lease, grace) = members[worker]?.abandoned.min(by: {
                ($0.key.job, $0.key.attempt) < ($1.key.job, $1.key.attempt)
            })
        else { return false }
        members[worker]?.wasEndedForAbandoned = true
        kill(worker, .abandonedAttempt(lease, after: grace), &actions)
        return true
    }

    private mutating func abandon(
        _ lease: Lease, after grace: Duration, _ now: Duration, _ actions: inout [Action]
    ) {
        guard let worker = places[lease] else { return }
        members[worker]?.abandoned[lease] = grace
        if members[worker]?.patienceEndsAt == nil { members[worker]?.patienceEndsAt = now + limits.abandonedPatience }
        letGoIfDone(worker, now, &actions)
    }

    private mutating func exited(_ worker: WorkerID, _ now: Duration, _ actions: inout [Action]) {
        guard let member = members.removeValue(forKey: worker) else { return }
        let began = member.attempts.filter { $0.value && member.abandoned[$0.key] == nil }
        for (lease, hasBegun) in member.attempts.sorted(by: {
            ($0.key.job, $0.key.attempt) < ($1.key.job, $1.key.attempt)
        }) {
            places[lease] = nil
            if member.abandoned[lease] != nil {
                actions.append(.end(lease, .notRun))
            } else if !hasBegun {
                // I3
                if member.isProbe { suspects.insert(lease, at: 0) } else { waiting.insert(lease, at: 0) }
            } else if member.wasEndedForAbandoned {
                actions.append(.end(lease, .notRun))
            } else {
                // Abandoned attempts still ran, so they count as company.
                let ran = member.runsUnreported ? member.attempts.count : began.count + member.abandoned.count
                let others = ran - 1
                actions.append(.end(lease, .crashed(others: others, worker)))
            }
        }
        if case .leaving = member.phase { return }
        if member.wasEndedForAbandoned { return }
        crashes += 1
        if member.wasReady {
            rest.died(now, after: limits.deathsBeforeRest, &actions)
        } else {
            rest.failedToStart(now, &actions)
        }
    }

    private mutating func alarmRang(_ now: Duration, _ actions: inout [Action]) {
        rest.endIfOver(now)
        for (worker, member) in members.sorted(by: { $0.key < $1.key }) {
            switch member.phase {
            case .starting(let until) where until <= now:
                kill(worker, .notIntroduced(after: limits.introduction), &actions)
            case .leaving(let until) where until <= now: kill(worker, .didNotExit(after: limits.exit), &actions)
            case .ready: watch(worker, member, now, &actions)
            case .starting, .leaving, .killed: break
            }
        }
    }

    private mutating func watch(_ worker: WorkerID, _ member: Member, _ now: Duration, _ actions: inout [Action]) {
        if let end = member.patienceEndsAt, end <= now, killForAbandoned(worker, &actions) { return }
        if member.attempts.isEmpty {
            if now - member.idleSince >= limits.idle { drain(worker, now, &actions) }
            return
        }
        // Timeouts begin with the attempt, so nothing else would end this.
        if let since = member.unbegunSince, now - since >= limits.hang {
            return kill(worker, .beganNothing(after: limits.hang), &actions)
        }
        guard member.pingDueAt <= now else { return }
        members[worker]?.pingDueAt = now + limits.pingInterval
        if let ping = member.ping {
            guard now - ping.sentAt >= limits.hang else { return }
            if member.beganCount > 1 {
                kill(worker, .hung(after: limits.hang), &actions)
            } else {
                // A single attempt may compute for as long as its timeout allows, unless the process is stopped.
                actions.append(.examine(worker))
            }
        } else {
            lastPing += 1
            members[worker]?.ping = (lastPing, now)
            actions.append(.ping(worker, id: lastPing))
        }
    }

    /// Lets each process exit when the attempts in it have ended.
    private mutating func replaceAll(_ now: Duration, _ actions: inout [Action]) {
        for worker in members.keys.sorted() { members[worker]?.isOutdated = true }
        for worker in members.keys.sorted() { letGoIfDone(worker, now, &actions) }
    }

    private mutating func close(_ now: Duration, _ actions: inout [Action]) {
        isClosed = true
        for worker in members.keys.sorted() {
            guard let member = members[worker], member.isReady || member.isStarting else { continue }
            drain(worker, now, &actions)
        }
    }
}
