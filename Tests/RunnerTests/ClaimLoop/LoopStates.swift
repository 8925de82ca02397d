import Jobs
import OperationTypes

@testable import Runner

/// One claim loop in a named state, and what an event does to it, told as text.
struct LoopProbe {
    var loop: ClaimLoop
    var now = Duration.seconds(100)
    static let wall = Timestamp(milliseconds: 1_000_000)
    static let settings = RunnerSettings(slots: 2, grace: .seconds(5))

    init(settings: RunnerSettings = LoopProbe.settings) {
        loop = ClaimLoop(settings: settings)
        _ = loop.handle(.holds(HolderID(1)), now: now)
    }

    static func attempt(
        _ job: Int64, attempt: Int = 1, timeout: Duration? = .seconds(30), retry: RetryPolicy = .never,
        holder: Int64 = 1
    ) -> RunningAttempt {
        let definition = Definition(name: "d", kind: "k", retry: retry, timeout: timeout)
        return RunningAttempt(
            job: ClaimedJob(
                lease: Lease(job: JobID(job), attempt: attempt), definition: DefinitionID(1), graph: nil, input: nil,
                hasDependencies: false, tries: attempt - 1), by: HolderID(holder),
            definition: PreparedDefinition(definition, kind: nil), connections: ConnectionLog { wall })
    }

    static func exchange(claimed: [RunningAttempt] = [], nextDueAt: Timestamp? = nil) -> ClaimLoop.Event {
        .exchanged(Exchange(finished: [], claimed: claimed.map(\.job), nextDueAt: nextDueAt), claimed)
    }

    static func ended(_ attempt: RunningAttempt, _ result: AttemptResult = .returned(.emptyObject, children: []))
        -> ClaimLoop.Event
    { .attemptEnded(attempt, result, random: 0.5) }

    @discardableResult
    mutating func send(_ event: ClaimLoop.Event) -> [String] {
        loop.handle(event, now: now).map(Self.describe)
    }

    /// Begins the exchange that is wanted and answers it.
    @discardableResult
    mutating func exchange(claimed: [RunningAttempt] = [], nextDueAt: Timestamp? = nil) -> [String] {
        _ = loop.beginExchange()
        return send(Self.exchange(claimed: claimed, nextDueAt: nextDueAt))
    }

    /// The actions, then what the loop wants: `exchange(2 ends, claim 1)`, `wall +5000`, `uptime +30`.
    mutating func after(_ event: ClaimLoop.Event) -> String {
        var words = send(event)
        if loop.hasEnded { return (words + ["ended"]).joined(separator: ", ") }
        if let wall = loop.wallAlarmAt { words.append("wall +\(wall.milliseconds - Self.wall.milliseconds)") }
        if let uptime = loop.uptimeAlarmAt { words.append("uptime +\((uptime - now).human)") }
        if let batch = loop.beginExchange() { words.append(Self.describe(batch)) }
        return words.isEmpty ? "-" : words.joined(separator: ", ")
    }

    static func describe(_ batch: ClaimLoop.Batch) -> String {
        let ends = batch.ends.map { "\($0.attempt.lease.job) \(describe($0.ending))" }
        let words = ends + (batch.claim.map { ["claim \($0.slots)"] } ?? [])
        return "\(batch.isLost ? "ask" : "exchange")(\(words.joined(separator: ", ")))"
    }

    static func describe(_ ending: AttemptEnd.Ending) -> String {
        switch ending {
        case .succeeded: "succeeded"
        case .failed(let failure, let timedOut): timedOut ? "failed timed_out" : "failed \(failure.code)"
        case .retry(let failure, _, let wait): "retry \(failure.code) +\(wait.milliseconds)"
        case .cancelled: "cancelled"
        case .interrupted: "interrupted"
        case .crashed: "crashed"
        }
    }

    static func describe(_ action: ClaimLoop.Action) -> String {
        switch action {
        case .start(let attempt): "start \(attempt.lease.job)"
        case .stop(let attempt, let reason): "stop \(attempt.lease.job) \(reason.name)"
        case .abandon(let attempt, _, _): "abandon \(attempt.lease.job)"
        case .dropLateEnd(let attempt): "late \(attempt.lease.job)"
        case .prepare(let end): "prepare \(end.attempt.lease.job)"
        case .lapseOver: "lapse over"
        case .prove(let proofs, let isProof): "prove \(proofs.count) \(isProof)"
        case .end(nil): "end"
        case .end(_?): "end with error"
        }
    }
}

/// The states a claim loop can be in, as far as events tell them apart. Job 1 runs where one does.
enum LoopState: String, CaseIterable {
    case fresh, idle, inFlight, running, returned, full, stopping, abandoned, backingOff, draining, interrupting, ended

    func probe(_ one: RunningAttempt, _ two: RunningAttempt) -> LoopProbe {
        var probe = LoopProbe()
        switch self {
        case .fresh: break
        case .idle: probe.exchange(nextDueAt: LoopProbe.wall + .seconds(5))
        case .inFlight: _ = probe.loop.beginExchange()
        case .running: probe.exchange(claimed: [one])
        case .returned:
            probe.exchange(claimed: [one])
            probe.send(.returned(one))
        case .full: probe.exchange(claimed: [one, two])
        case .stopping:
            probe.exchange(claimed: [one])
            probe.send(.cancelRequested(one.lease.job))
        case .abandoned:
            probe.exchange(claimed: [one])
            probe.send(.cancelRequested(one.lease.job))
            probe.now += .seconds(5)
            probe.send(.uptimeAlarm(random: 0.5))
            probe.exchange()
        case .backingOff:
            probe.exchange(claimed: [one, two])
            probe.send(LoopProbe.ended(two))
            _ = probe.loop.beginExchange()
            probe.send(.exchangeFailed(.busy(waitedMilliseconds: 1)))
        case .draining:
            probe.exchange(claimed: [one])
            probe.send(.drain(limit: .seconds(10)))
        case .interrupting:
            probe.exchange(claimed: [one])
            probe.send(.interrupt)
        case .ended: probe.send(.interrupt)
        }
        return probe
    }
}

enum LoopEvent: String, CaseIterable {
    case wake, due, wallAlarmEarly, wallAlarm, uptimeAlarm, answered, refused, storeFailed, returned, ended, cancelled,
        proofWanted,
        fewerSlots, drain, interrupt

    func event(_ one: RunningAttempt, _ two: RunningAttempt) -> ClaimLoop.Event {
        switch self {
        case .wake: .wake
        case .due: .due(LoopProbe.wall + .seconds(2))
        case .wallAlarmEarly: .wallAlarm(LoopProbe.wall)
        case .wallAlarm: .wallAlarm(LoopProbe.wall + .seconds(5))
        case .uptimeAlarm: .uptimeAlarm(random: 0.5)
        case .answered: LoopProbe.exchange(claimed: [two])
        case .refused: .exchangeFailed(.busy(waitedMilliseconds: 1))
        case .storeFailed: .storeFailed(.closed)
        case .returned: .returned(one)
        case .ended: LoopProbe.ended(one)
        case .cancelled: .cancelRequested(one.lease.job)
        case .proofWanted: .proofWanted(Latch())
        case .fewerSlots: .settings(RunnerSettings(slots: 1, grace: .seconds(5)))
        case .drain: .drain(limit: .seconds(3))
        case .interrupt: .interrupt
        }
    }

    /// Whether it can happen: answers only while an exchange is in flight, an end only of an attempt that runs.
    func canHappen(in state: LoopState) -> Bool {
        switch self {
        case .answered, .refused: state == .inFlight
        case .returned: ![.fresh, .idle, .inFlight, .returned, .ended].contains(state)
        case .ended: ![.fresh, .idle, .inFlight, .ended].contains(state)
        default: true
        }
    }
}
