import Jobs
import OperationTypes

/// Decides when the runner exchanges with the store, and how it acts on the answers. It turns events into actions,
/// without a clock and without I/O.
///
/// - I1: At most one exchange is in flight. Ends and requests during an exchange wait for the next one (group commit).
/// - I2: There are never more running attempts than slots; abandoned attempts count as running.
/// - I3: Every claimed job has exactly one end, which is sent until the store has answered it.
/// - I4: An exchange needs a reason: an end to record, a free slot and a job that may be ready, a clock that was set,
///   or a request for proof of progress.
/// - I5: A wake-up during an exchange is not lost; it leads to the next one.
/// - I6: After draining begins, nothing is claimed or started.
/// - I7: Only the first reason to stop an attempt counts, and it is sent once.
/// - I8: One exchange records at most ``maxWeight`` ends and rows of their children. An end with more children is not
///   sent until the store has prepared them; meanwhile it keeps its slot.
/// - I9: Jobs are claimed and started only in a life (``LifeLoop``). After a lapse, attempts that return no value end
///   without a record, because their jobs are rescued.
/// - I10: An exchange names one life. If its answer is lost, the next exchange asks for it.
/// - I11: An attempt whose operation has returned is neither asked to stop nor abandoned, however long its checkpoints
///   take. Only a lapse abandons it, because no record of its end follows then (I9).
struct ClaimLoop {
    /// The content of one exchange with the store.
    struct Batch {
        var ends: [EndedAttempt]
        var claim: ClaimRequest?
        var holder: HolderID
        /// Whether the exchange was sent before, and its answer was lost (I10).
        var isLost = false
    }

    /// The maximum weight of one exchange. A larger number of rows is written in several transactions.
    static let maxWeight = 2000

    struct Running {
        let attempt: RunningAttempt
        let startedAt: Duration
        var stop: StopReason?
        var stoppedAt: Duration?
        var abandonAt: Duration?
        var isAbandoned = false
        /// Whether the operation has returned. The end follows when the checkpoints are saved.
        var hasReturned = false
    }

    struct InFlight {
        var batch: Batch
        var proofs: [Latch<Bool>]
        var earliestDue: Timestamp?
        var cancelled: Set<JobID> = []
    }

    enum Phase {
        case running
        case draining(until: Duration)
        case interrupting(until: Duration)
        case ended
    }

    var settings: RunnerSettings
    var phase = Phase.running
    var attempts: [Lease: Running] = [:]
    /// The number of abandoned attempts whose code still runs.
    private(set) var abandonedCount = 0
    var ends: [EndedAttempt] = []
    /// The attempts with ends whose children the store is preparing.
    var preparing: Set<Lease> = []
    var proofs: [Latch<Bool>] = []
    var inFlight: InFlight?
    /// The exchange whose answer was lost.
    var unanswered: InFlight?
    /// The life in which jobs may be claimed; nil before the first one and after a lapse.
    var holder: HolderID?
    var lastHolder: HolderID?
    /// Whether attempts of a lapsed life, or their ends, may be left.
    var isLapsing = false
    var mayClaim = true
    private var dueAt: Timestamp?
    private var deadlines = Deadlines()
    var backoff = Backoff()
    private(set) var hasExchanged = false
    /// When the holder was drained, as of the last exchange; nil if it was not.
    private(set) var drainedAt: Timestamp?

    init(settings: RunnerSettings) { self.settings = settings }
}

// MARK: What the loop wants

extension ClaimLoop {
    var hasEnded: Bool {
        if case .ended = phase { return true }
        return false
    }

    private var isRunning: Bool {
        if case .running = phase { return true }
        return false
    }

    var runningLeases: [Lease] { attempts.keys.sorted { ($0.job, $0.attempt) < ($1.job, $1.attempt) } }

    private var freeSlots: Int { max(0, settings.slots - attempts.count - preparing.count) }

    /// The attempts that the loop knows to be held, apart from the ones that an exchange in flight claims.
    var knownLeases: Set<Lease> {
        let ended = ends.map(\.attempt.lease) + (inFlight?.batch.ends.map(\.attempt.lease) ?? [])
        return preparing.union(attempts.keys).union(ended)
    }

    /// Whether an exchange should begin now (I1, I4).
    var wantsExchange: Bool {
        if hasEnded || inFlight != nil || lastHolder == nil { return false }
        if !proofs.isEmpty { return true }
        if backoff.retryAt != nil { return false }
        return unanswered != nil || !ends.isEmpty || (mayClaim && isRunning && holder != nil && freeSlots > 0)
    }

    /// Begins an exchange, whose answer must follow as an event. Nil if no exchange is wanted.
    mutating func beginExchange(room: Room = Room()) -> Batch? {
        guard wantsExchange, let lastHolder else { return nil }
        if var lost = unanswered.take() {
            lost.proofs = proofs
            proofs = []
            inFlight = lost
            backoff.retryAt = nil
            return lost.batch
        }
        let ends = takeEnds()
        var batch = Batch(ends: ends, claim: nil, holder: ends.first?.attempt.holder ?? lastHolder)
        // Every end frees a slot and may bring a queue below its limit, so an exchange also claims (I9).
        if isRunning, holder == batch.holder, freeSlots > 0 {
            batch.claim = ClaimRequest(
                slots: freeSlots, ageing: settings.ageing, room: room.kinds, suspects: room.suspects,
                suspectRoom: room.suspectKinds, kinds: room.only, queues: room.queues)
            mayClaim = false
        }
        inFlight = InFlight(batch: batch, proofs: proofs)
        proofs = []
        backoff.retryAt = nil
        return batch
    }

    /// The ends for one exchange (I8, I10): at least one if there are any.
    private mutating func takeEnds() -> [EndedAttempt] {
        var weight = 0
        let holder = ends.first?.attempt.holder
        let count = ends.prefix { end in
            if end.attempt.holder != holder { return false }
            defer { weight += end.weight }
            return weight == 0 || weight + end.weight <= Self.maxWeight
        }.count
        defer { ends.removeFirst(count) }
        return Array(ends.prefix(count))
    }

    /// When the next scheduled job is due; nil if none is, or if nothing more will be claimed.
    var wallAlarmAt: Timestamp? { isRunning ? dueAt : nil }

    /// The next moment of the monotonic clock at which the loop has something to do.
    var uptimeAlarmAt: Duration? {
        let phaseEnd: Duration?
        switch phase {
        case .draining(let until): phaseEnd = until
        case .running, .interrupting: phaseEnd = nil
        case .ended: return nil
        }
        return [deadlines.next, backoff.retryAt, phaseEnd].compactMap(\.self).min()
    }
}

// MARK: Events

extension ClaimLoop {
    /// Handles an event.
    ///
    /// - Parameter now: The time of the monotonic clock.
    /// - Returns: The actions to perform, in order.
    mutating func handle(_ event: Event, now: Duration) -> [Action] {
        if hasEnded { return handleAfterEnd(event) }
        var actions: [Action] = []
        switch event {
        case .wake: mayClaim = true
        case .due(let moment): noteDue(moment)
        case .wallAlarm(let moment): wallAlarmRang(moment)
        case .uptimeAlarm(let random): uptimeAlarmRang(now, random, &actions)
        case .exchanged(let answer, let claimed): exchanged(answer, claimed, now, &actions)
        case .exchangeFailed(let error): exchangeFailed(error, now, &actions)
        case .answerLost: answerLost(now, &actions)
        case .exchangeUndone: exchangeUndone(&actions)
        case .holds(let holder):
            (self.holder, lastHolder) = (holder, holder)
            mayClaim = true
        case .lapsed(let limit): lapse(within: limit, now, &actions)
        case .storeFailed(let error): fail(error, &actions)
        case .began(let attempt): began(attempt, now)
        case .returned(let attempt): attempts[attempt.lease]?.hasReturned = true
        case .attemptEnded(let attempt, let result, let random):
            attemptEnded(attempt, result, now, random, &actions)
        case .prepared(let end):
            preparing.remove(end.attempt.lease)
            ends.append(end)
        case .cancelRequested(let job): cancel(job, now, &actions)
        case .proofWanted(let proof): proofs.append(proof)
        case .settings(let settings):
            self.settings = settings
            mayClaim = true
        case .drain(let limit): drain(until: now + limit, now, &actions)
        case .interrupt: interrupt(now, &actions)
        }
        endLapse(&actions)
        endIfDrained(&actions)
        return actions
    }

    private func handleAfterEnd(_ event: Event) -> [Action] {
        switch event {
        case .attemptEnded(let attempt, _, _): [.dropLateEnd(attempt)]
        case .proofWanted(let proof): [.prove([proof], false)]
        default: []
        }
    }

    private mutating func noteDue(_ moment: Timestamp) {
        dueAt = min(dueAt ?? moment, moment)
        // The exchange in flight may not have seen this job (I5).
        let earlier = inFlight?.earliestDue
        inFlight?.earliestDue = min(earlier ?? moment, moment)
    }

    private mutating func wallAlarmRang(_ now: Timestamp) {
        // An early alarm means that the clock was set. The next exchange then returns the time at which the current
        // waits end on the new clock. The same applies to an alarm while nothing is due, because an exchange in flight
        // may have used the old time (P8).
        if let dueAt, dueAt <= now { self.dueAt = nil }
        mayClaim = true
    }

    private mutating func uptimeAlarmRang(
        _ now: Duration, _ random: Double, _ actions: inout [Action]
    ) {
        while let lease = deadlines.popDue(now) {
            // I11
            guard let running = attempts[lease], !running.isAbandoned, !running.hasReturned || isLapsing else {
                continue
            }
            if running.stop == nil, let timeout = running.attempt.definition.definition.timeout {
                stop(lease, .timedOut(after: timeout), now, &actions)
            } else if let abandonAt = running.abandonAt, abandonAt <= now {
                abandon(lease, now, random, &actions)
            }
        }
        if let retryAt = backoff.retryAt, retryAt <= now { backoff.retryAt = nil }
        if case .draining(let until) = phase, until <= now { interrupt(now, &actions) }
    }

    private mutating func exchanged(
        _ answer: Exchange, _ claimed: [RunningAttempt], _ now: Duration, _ actions: inout [Action]
    ) {
        guard let done = inFlight else { preconditionFailure("I1: an answer arrived without an exchange") }
        inFlight = nil
        hasExchanged = true
        (drainedAt, backoff) = (answer.drainedAt, Backoff())
        // If abandoned attempts occupy all slots, an exchange proves no progress, because nothing can be claimed any
        // more.
        let isStuck = abandonedCount >= settings.slots && isRunning
        if !done.proofs.isEmpty { actions.append(.prove(done.proofs, !isStuck)) }
        dueAt = [answer.nextDueAt, done.earliestDue].compactMap(\.self).min()
        if let slots = done.batch.claim?.slots, claimed.count == slots { mayClaim = true }
        for attempt in claimed {
            // A claimed job is not started if it was cancelled, the runner began to stop, or the life lapsed during
            // the exchange (I6, I9).
            if done.cancelled.contains(attempt.lease.job) {
                ends.append(EndedAttempt(attempt: attempt, ending: .cancelled, took: .zero))
            } else if !isRunning || attempt.holder != holder {
                ends.append(EndedAttempt(attempt: attempt, ending: .interrupted, took: .zero))
            } else {
                begin(attempt, now)
                actions.append(.start(attempt))
            }
        }
    }

    private mutating func begin(_ attempt: RunningAttempt, _ now: Duration) {
        attempts[attempt.lease] = Running(attempt: attempt, startedAt: now)
        // The timeout of an attempt in another process starts when that process has begun it.
        if attempt.definition.kind?.host == nil { startTimeout(of: attempt, now) }
    }

    private mutating func began(_ attempt: RunningAttempt, _ now: Duration) {
        guard attempts[attempt.lease] != nil else { return }
        startTimeout(of: attempt, now)
    }

    private mutating func startTimeout(of attempt: RunningAttempt, _ now: Duration) {
        guard let timeout = attempt.definition.definition.timeout else { return }
        addDeadline(attempt.lease, at: now + timeout)
    }

    private mutating func addDeadline(_ lease: Lease, at moment: Duration) {
        let attempts = attempts
        deadlines.add(lease, at: moment, running: attempts.count) { attempts[$0] != nil }
    }

    private mutating func attemptEnded(
        _ attempt: RunningAttempt, _ result: AttemptResult, _ now: Duration, _ random: Double,
        _ actions: inout [Action]
    ) {
        guard let running = attempts.removeValue(forKey: attempt.lease) else {
            preconditionFailure("I3: an attempt ends only once")
        }
        if attempts.isEmpty { deadlines.removeAll() }
        if running.isAbandoned {
            abandonedCount -= 1
            mayClaim = true
            actions.append(.dropLateEnd(attempt))
            return
        }
        recordEnd(of: running, result, now, random, &actions)
    }

    /// - Parameter grace: The time that the attempt had to stop, if it is abandoned.
    private mutating func recordEnd(
        of running: Running, _ result: AttemptResult, abandonedAfter grace: Duration? = nil, _ now: Duration,
        _ random: Double, _ actions: inout [Action]
    ) {
        let attempt = running.attempt
        // I9
        if running.stop == .lapsed, !result.isValue { return }
        let ending = AttemptEnd.Ending(
            result, stop: running.stop, abandonedAfter: grace, of: attempt.definition.definition,
            tries: attempt.job.tries, maxCrashes: settings.maxRescues, random: random)
        let ended = EndedAttempt(attempt: attempt, ending: ending, took: now - running.startedAt)
        guard ended.weight > Self.maxWeight else { return ends.append(ended) }
        preparing.insert(attempt.lease)
        actions.append(.prepare(ended))
    }

    private mutating func cancel(_ job: JobID, _ now: Duration, _ actions: inout [Action]) {
        inFlight?.cancelled.insert(job)
        for lease in attempts.keys where lease.job == job { stop(lease, .cancelled, now, &actions) }
    }

    /// Asks an attempt to stop, once (I7).
    mutating func stop(_ lease: Lease, _ reason: StopReason, _ now: Duration, _ actions: inout [Action]) {
        guard let running = attempts[lease], running.stop == nil else { return }
        // I11
        if running.hasReturned, reason != .lapsed { return }
        attempts[lease]?.stop = reason
        attempts[lease]?.stoppedAt = now
        setAbandonment(of: lease, at: now + settings.grace)
        if !running.hasReturned { actions.append(.stop(running.attempt, reason)) }
    }

    /// Abandons an attempt at this moment if it has not stopped.
    mutating func setAbandonment(of lease: Lease, at moment: Duration) {
        attempts[lease]?.abandonAt = moment
        addDeadline(lease, at: moment)
    }

    private mutating func abandon(
        _ lease: Lease, _ now: Duration, _ random: Double, _ actions: inout [Action]
    ) {
        guard let running = attempts[lease], let reason = running.stop, let stoppedAt = running.stoppedAt,
            let abandonAt = running.abandonAt
        else { return }
        let grace = abandonAt - stoppedAt
        attempts[lease]?.isAbandoned = true
        abandonedCount += 1
        recordEnd(of: running, .notRun, abandonedAfter: grace, now, random, &actions)
        actions.append(.abandon(running.attempt, reason, after: grace))
    }

    private mutating func drain(until: Duration, _ now: Duration, _ actions: inout [Action]) {
        switch phase {
        case .running: phase = .draining(until: until)
        case .draining(let earlier): phase = .draining(until: min(earlier, until))
        case .interrupting, .ended: return
        }
    }

    private mutating func interrupt(_ now: Duration, _ actions: inout [Action]) {
        switch phase {
        case .running, .draining: break
        case .interrupting, .ended: return
        }
        // The operations get one grace period, and a store that cannot record their ends gets another.
        phase = .interrupting(until: now + settings.grace * 2)
        for lease in runningLeases { stop(lease, .interrupted, now, &actions) }
    }

    private mutating func endIfDrained(_ actions: inout [Action]) {
        if isRunning || hasEnded || inFlight != nil || unanswered != nil { return }
        if !ends.isEmpty || !preparing.isEmpty { return }
        if attempts.count > abandonedCount { return }
        phase = .ended
        if !proofs.isEmpty { actions.append(.prove(proofs, true)) }
        actions.append(.end(nil))
    }
}
