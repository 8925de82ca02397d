import Jobs
import OperationTypes
import Testing

@testable import Runner

/// Random events against a model of the store; the seed of a failing sequence is printed with it.
@Suite struct ClaimLoopSequences {
    @Test(arguments: 1...300) func invariantsHoldInEverySequence(seed: UInt64) {
        var model = LoopModel(seed: seed)
        for _ in 0..<400 { model.step() }
        model.finish()
        #expect(model.violations.isEmpty, "seed \(seed): \(model.violations)")
        #expect(model.hasEnded, "seed \(seed): the loop did not end")
    }
}

/// Plays store, operations, clock and callers, and checks I1 to I10.
private struct LoopModel {
    var random: SplitMix
    var loop = ClaimLoop(settings: RunnerSettings(slots: 4, grace: .seconds(5)))
    var now = Duration.seconds(1)
    var wall: Timestamp { Timestamp(milliseconds: now.milliseconds) }
    var nextJob: Int64 = 1
    var ready: [(job: Int64, attempt: Int)] = []
    var scheduled: [(job: Int64, attempt: Int, at: Timestamp)] = []
    /// Claimed in the store, by lease, until an end is recorded.
    var running: Set<Lease> = []
    /// Operations that have started and not returned.
    var operations: [RunningAttempt] = []
    /// Operations that have returned an error, while their checkpoints are saved.
    var returned: Set<Lease> = []
    /// Ends with very many children.
    var preparing: [EndedAttempt] = []
    var stopped: Set<Lease> = []
    var slots = 4
    var inFlight: ClaimLoop.Batch?
    /// The life of the loop, and whether it has lapsed.
    var holder: Int64 = 1
    var isLapsed = false
    var isLapseOver = false
    /// What became of the exchange whose answer was lost: the jobs that it claimed, or nil if it was undone.
    var lost: [RunningAttempt]?
    var unproved = 0
    var isDraining = false
    var hasEnded = false
    /// Every slot is held by an abandoned attempt.
    var isStuck: Bool {
        let snapshot = loop.snapshot(now: now)
        return snapshot.abandoned >= snapshot.slots
    }
    var violations: [String] = []

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        send(.holds(HolderID(holder)))
    }

    mutating func check(_ holds: Bool, _ rule: String) { if !holds { violations.append(rule) } }

    mutating func send(_ event: ClaimLoop.Event) {
        for action in loop.handle(event, now: now) {
            switch action {
            case .start(let attempt):
                check(!isDraining, "I6: started while draining")
                check(!isLapsed && attempt.holder == HolderID(holder), "I9: started without a life")
                operations.append(attempt)
                check(operations.count <= max(slots, 6), "I2: more operations than slots")
            case .stop(let attempt, _):
                check(!returned.contains(attempt.lease), "I11: stopped after it had returned")
                check(stopped.insert(attempt.lease).inserted, "I7: told twice")
            case .abandon(let attempt, _, _):
                check(isLapsed || !returned.contains(attempt.lease), "I11: abandoned after it had returned")
            case .dropLateEnd: break
            case .prepare(let end): preparing.append(end)
            case .lapseOver:
                check(isLapsed && !isLapseOver, "I9: a lapse that was not there is over")
                isLapseOver = true
            case .prove(let proofs, let isProof):
                unproved -= proofs.count
                check(isProof || hasEnded || isDraining || isStuck, "a proof was refused")
            case .end(let error):
                check(!hasEnded, "ended twice")
                check(error == nil, "ended with an error")
                hasEnded = true
            }
        }
    }

    mutating func lapse() {
        guard !isLapsed, !hasEnded else { return }
        isLapsed = true
        send(.lapsed(limit: .milliseconds(Int64(random.next(8000)))))
    }

    /// Rescues what the lapsed life left running, and begins the next one.
    mutating func beginLife() {
        guard isLapseOver else { return }
        (isLapsed, isLapseOver) = (false, false)
        for lease in running.sorted(by: { $0.job < $1.job }) {
            let isOver = !loop.knownLeases.contains(lease) || stopped.contains(lease) || returned.contains(lease)
            check(isOver, "I9: a job is rescued that still runs")
            ready.append((lease.job.rawValue, lease.attempt + 1))
        }
        running = []
        holder += 1
        send(.holds(HolderID(holder)))
    }

    mutating func step() {
        switch random.next(17) {
        case 0, 1:
            ready.append((nextJob, 1))
            nextJob += 1
            send(.wake)
        case 2:
            let moment = wall + .milliseconds(Int64(random.next(3000)))
            scheduled.append((nextJob, 1, moment))
            nextJob += 1
            send(.due(moment))
        case 3, 4: beginExchange()
        case 5, 6: answer(fails: random.next(6) == 0)
        case 7, 8: endOne()
        case 9:
            guard let lease = running.sorted(by: { $0.job < $1.job }).first else { return }
            send(.cancelRequested(lease.job))
        case 10: advance(by: .milliseconds(Int64(random.next(2000))))
        case 11:
            if hasEnded { return }
            unproved += 1
            send(.proofWanted(Latch()))
        case 12:
            slots = 1 + random.next(6)
            send(.settings(RunnerSettings(slots: slots, grace: .seconds(5))))
        case 13: if random.next(4) == 0 { lapse() }
        case 14, 15: beginLife()
        default: prepareOne()
        }
    }

    mutating func prepareOne() {
        guard !preparing.isEmpty else { return }
        var end = preparing.remove(at: random.next(preparing.count))
        end.prepared = PreparedChildren(0)
        send(.prepared(end))
    }

    mutating func beginExchange() {
        guard let batch = loop.beginExchange() else { return }
        check(inFlight == nil, "I1: two exchanges")
        check(!isDraining || batch.claim == nil || batch.isLost, "I6: claims while draining")
        check(batch.claim == nil || !isLapsed || batch.isLost, "I9: claims without a life")
        check(batch.ends.allSatisfy { $0.attempt.holder == batch.holder }, "I10: an exchange of two lives")
        let unprepared = batch.ends.filter { $0.prepared == nil }.flatMap(\.ending.children)
        check(unprepared.reduce(0) { $0 + $1.jobs.count } <= 2000, "I8: very many children in one exchange")
        inFlight = batch
    }

    mutating func answer(fails: Bool) {
        guard let batch = inFlight else { return }
        inFlight = nil
        if fails, batch.isLost || random.next(2) == 0 { return send(.exchangeFailed(.busy(waitedMilliseconds: 1))) }
        if batch.isLost {
            guard let claimed = lost else { return send(.exchangeUndone) }
            return send(answer(claimed))
        }
        if fails, random.next(2) == 0 {
            lost = nil
            return send(.exchangeFailed(.unanswered(server: "db", message: "reset")))
        }
        for end in batch.ends {
            let lease = end.attempt.lease
            check(running.remove(lease) != nil, "I3: \(lease) ended twice")
            switch end.ending {
            case .retry(_, _, let wait): scheduled.append((lease.job.rawValue, lease.attempt + 1, wall + wait))
            case .interrupted, .crashed: ready.append((lease.job.rawValue, lease.attempt + 1))
            case .succeeded, .failed, .cancelled: break
            }
        }
        let wall = wall
        ready += scheduled.filter { $0.at <= wall }.map { ($0.job, $0.attempt) }
        scheduled.removeAll { $0.at <= wall }
        let count = min(batch.claim?.slots ?? 0, ready.count)
        let claimed = ready.prefix(count).map {
            LoopProbe.attempt(
                $0.job, attempt: $0.attempt, timeout: .seconds(2),
                retry: RetryPolicy(tries: 3, delay: .constant(.seconds(1))), holder: batch.holder.rawValue)
        }
        ready.removeFirst(count)
        running.formUnion(claimed.map(\.lease))
        if fails {
            lost = Array(claimed)
            return send(.exchangeFailed(.unanswered(server: "db", message: "reset")))
        }
        send(answer(claimed))
    }

    func answer(_ claimed: [RunningAttempt]) -> ClaimLoop.Event {
        .exchanged(
            Exchange(finished: [], claimed: claimed.map(\.job), nextDueAt: scheduled.map(\.at).min()), claimed)
    }

    mutating func endOne() {
        guard !operations.isEmpty else { return }
        let index = random.next(operations.count)
        let attempt = operations[index]
        let isSaving = returned.remove(attempt.lease) == nil && random.next(4) == 0
        if isSaving {
            returned.insert(attempt.lease)
            return send(.returned(attempt))
        }
        operations.remove(at: index)
        let failure = TryFailure(JobFailure(code: "x", message: "x"), isRetryable: true)
        let children = [0, 0, 900, 3000][random.next(4)]
        let jobs = Array(repeating: NewJob(definition: DefinitionID(1)), count: children)
        let result: AttemptResult =
            random.next(3) == 0
            ? .threw(failure)
            : .returned(.emptyObject, children: children == 0 ? [] : [NewGraph(isGraph: true, jobs: jobs)])
        send(.attemptEnded(attempt, result, random: 0.5))
    }

    mutating func advance(by duration: Duration) {
        now += duration
        if let moment = loop.wallAlarmAt, moment <= wall { send(.wallAlarm(wall)) }
        if let moment = loop.uptimeAlarmAt, moment <= now { send(.uptimeAlarm(random: 0.5)) }
        // Rung, an alarm is later or silent: else the runner would spin.
        check((loop.uptimeAlarmAt ?? .seconds(1 << 40)) > now, "an alarm stays in the past")
    }

    /// Lets everything come to rest, checks that nothing was forgotten, and drains.
    mutating func finish() {
        for _ in 0..<200 {
            beginExchange()
            answer(fails: false)
            while !operations.isEmpty { endOne() }
            while !preparing.isEmpty { prepareOne() }
            beginLife()
            advance(by: .seconds(1))
        }
        check(ready.isEmpty && scheduled.isEmpty && running.isEmpty, "I5: work is left that nobody looks at")
        check(unproved == 0, "a proof is left without an answer")
        check(loop.uptimeAlarmAt == nil && loop.wallAlarmAt == nil, "P10: an idle loop has an alarm set")
        for _ in 0..<6 {
            ready.append((nextJob, 1))
            nextJob += 1
        }
        send(.wake)
        beginExchange()
        if random.next(2) == 0 { answer(fails: false) }
        isDraining = true
        send(random.next(2) == 0 ? .interrupt : .drain(limit: .seconds(3)))
        var refusals = 3
        for _ in 0..<50 where !hasEnded {
            let isRefused = refusals > 0 && random.next(4) == 0
            if isRefused { refusals -= 1 }
            answer(fails: isRefused)
            beginExchange()
            // Some operations never heed; they are given up.
            if random.next(8) == 0 || operations.contains(where: { returned.contains($0.lease) }) { endOne() }
            if random.next(2) == 0 { prepareOne() }
            if !hasEnded { advance(by: .milliseconds(400)) }
        }
        check(running.isEmpty || !hasEnded, "I3: an end was not recorded")
    }
}

private struct SplitMix {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
