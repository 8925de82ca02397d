import Jobs

/// Decides which process of one worker program runs which attempt, and what follows when a process ends. It turns events
/// into actions, without a clock and without I/O.
///
/// - I1: Every attempt that was passed to ``Event/run(_:isSuspect:)`` has exactly one ``Action/end(_:_:)``.
/// - I2: A process never runs more attempts than ``Limits/attempts``. A probe runs one, which is a suspect; suspects run
///   nowhere else. So the death of a probe proves the guilt of its attempt.
/// - I3: An attempt that had not begun when its process died waits for another process, as if it had never been sent.
/// - I4: All attempts that had begun in a process end when it dies: as crashed, or as not run if the process was ended
///   because of an abandoned attempt.
/// - I5: A process with an abandoned attempt gets no others. It is ended when nothing else runs in it, or after
///   ``Limits/abandonedPatience``.
/// - I6: A program whose processes die before they are ready, or die ``Limits/deathsBeforeRest`` times within a minute
///   while no attempt ends in between, rests, and each rest is longer than the one before. Meanwhile no process is
///   launched, and waiting attempts end as not run.
/// - I7: There are at most ``Limits/processes`` ordinary processes that accept attempts, and at most ``Limits/probes``
///   probes, apart from probes whose suspect has run for ``Limits/probation``. These do not count, up to
///   ``Limits/longProbes``.
/// - I8: After ``Event/retire``, no process is launched, waiting attempts end as not run, and each process exits when the
///   attempts in it have ended.
struct Dispatcher {
    /// The limits of one program.
    struct Limits: Sendable, Hashable {
        /// The maximum number of ordinary processes.
        var processes = 1
        /// The maximum number of attempts in one process.
        var attempts = 256
        /// The maximum number of probes with a suspect that began recently.
        var probes = 2
        /// The maximum number of probes with a suspect that has run for ``probation``.
        var longProbes = 14
        /// The time after which a suspect no longer keeps other suspects waiting.
        var probation = Duration.seconds(15)
        /// The time after which an idle process is drained.
        var idle = Duration.seconds(30)
        /// The time that a process has to introduce itself.
        var introduction = Duration.seconds(20)
        /// The time that a process has to exit after it was asked to.
        var exit = Duration.seconds(10)
        /// The time that the other attempts of a process have to end after one of its attempts was abandoned.
        var abandonedPatience = Duration.seconds(60)
        /// The interval between two signs of life while attempts run.
        var pingInterval = Duration.seconds(10)
        /// The time without a sign of life after which a process counts as hung if it has several attempts, is stopped by a
        /// signal, or has begun none of its attempts.
        var hang = Duration.seconds(60)
        /// The number of deaths within a minute after which the program rests.
        var deathsBeforeRest = 5
    }

    /// A process of the program, running or ended.
    struct WorkerID: Hashable, Comparable, Sendable, CustomStringConvertible {
        var number: Int
        static func < (a: WorkerID, b: WorkerID) -> Bool { a.number < b.number }
        var description: String { "\(number)" }
    }

    enum Phase {
        case starting(until: Duration)
        case ready
        /// No attempt follows. The process exits by itself, or is killed.
        case leaving(until: Duration)
        case killed
    }

    struct Member {
        var isProbe: Bool
        var phase: Phase
        /// Whether the process has introduced itself.
        var wasReady = false
        /// Whether the program's settings have changed since the launch.
        var isOutdated = false
        /// The attempts in the process, and whether each has begun.
        var attempts: [Lease: Bool] = [:]
        /// Whether the process runs attempts that it has not reported as begun, so that any of them may run.
        var runsUnreported = false
        /// The attempts that were given up, and the time that each had to stop.
        var abandoned: [Lease: Duration] = [:]
        /// When the process is ended because of its abandoned attempts.
        var patienceEndsAt: Duration?
        /// Whether the process was killed because of an abandoned attempt, so that its other attempts are not suspects.
        var wasEndedForAbandoned = false
        var launchedAt: Duration
        var idleSince: Duration
        /// When the suspect of a probe was sent.
        var suspectSince: Duration?
        var pingDueAt: Duration
        /// The number of the ping without an answer, and when it was sent.
        var ping: (id: Int, sentAt: Duration)?
        /// Whether an examination has found the process stopped since the ping was sent.
        var isFoundStopped = false
        /// Since when the process has had attempts and has begun none of them; nil if it has none or has begun one.
        var unbegunSince: Duration?

        var isReady: Bool {
            if case .ready = phase { return true }
            return false
        }

        var isStarting: Bool {
            if case .starting = phase { return true }
            return false
        }

        /// Whether the process may get attempts, now or when it is ready.
        var isOpen: Bool { (isReady || isStarting) && abandoned.isEmpty && !isOutdated }
        var beganCount: Int { attempts.values.count { $0 } }

        /// Notes the moment from which a process with attempts has begun none of them.
        mutating func noteUnbegun(_ now: Duration) {
            if unbegunSince == nil, !attempts.isEmpty, !attempts.values.contains(true) { unbegunSince = now }
        }
    }

    var limits: Limits
    var members: [WorkerID: Member] = [:]
    var places: [Lease: WorkerID] = [:]
    var waiting: [Lease] = []
    var suspects: [Lease] = []
    var lastWorker = 0
    var lastPing = 0
    /// Whether a check or a clean-up waits for a process.
    var isNeeded = false
    /// Whether no process is launched any more.
    var isClosed = false
    var rest = Rest()
    /// The number of processes that ended although nobody asked them to, including those that never became ready.
    var crashes = 0

    init(limits: Limits) { self.limits = limits }
}

// MARK: What the host asks

extension Dispatcher {
    /// How many more ordinary attempts may be passed to ``Event/run(_:isSuspect:)``.
    func room(now: Duration) -> Int {
        if isClosed || rest.isResting(now) { return 0 }
        let taken = members.values.reduce(waiting.count) { $0 + ($1.isProbe ? 0 : $1.attempts.count) }
        return max(0, limits.processes * limits.attempts - taken)
    }

    /// How many more suspects may be passed to ``Event/run(_:isSuspect:)``.
    func roomForSuspects(now: Duration) -> Int {
        if isClosed || rest.isResting(now) { return 0 }
        let probes = members.values.filter { $0.isProbe && !$0.attempts.isEmpty }
        let long = probes.count { isLong($0, now) }
        let free = min(limits.probes - (probes.count - long), limits.probes + limits.longProbes - probes.count)
        return max(0, free - suspects.count)
    }

    /// Whether no process is left.
    var isEmpty: Bool { members.isEmpty }

    /// Whether a process may be launched now.
    func mayLaunch(now: Duration) -> Bool { !isClosed && !rest.isResting(now) }

    /// Whether the process has not been told to end.
    func wants(_ worker: WorkerID) -> Bool {
        if case .killed = members[worker]?.phase { return false }
        return members[worker] != nil
    }

    /// Notes a message that shows that the process runs an attempt without having reported that. The attempt counts as begun
    /// (I4), but any other in the process may have sent the message, so all count as its company.
    mutating func noteUnreported(_ lease: Lease, in worker: WorkerID) {
        noteBegun(lease, in: worker)
        members[worker]?.runsUnreported = true
    }

    /// Notes that the process has reported the attempt as begun.
    mutating func noteBegun(_ lease: Lease, in worker: WorkerID) {
        guard members[worker]?.attempts[lease] != nil else { return }
        members[worker]?.attempts[lease] = true
        members[worker]?.unbegunSince = nil
    }

    /// The process in which the attempt is; nil if it waits or is unknown.
    func worker(of lease: Lease) -> WorkerID? { places[lease] }

    /// Whether the process has begun the attempt.
    func hasBegun(_ lease: Lease, in worker: WorkerID) -> Bool { members[worker]?.attempts[lease] == true }

    /// A process that answers checks; nil if none is ready.
    var readyWorker: WorkerID? { members.filter { $1.isReady && $1.abandoned.isEmpty && !$1.isOutdated }.keys.min() }

    /// The next moment at which ``Event/alarm`` is due; nil if there is none.
    var alarmAt: Duration? {
        var next = rest.until
        func consider(_ moment: Duration) { next = min(next ?? moment, moment) }
        for member in members.values {
            switch member.phase {
            case .starting(let until), .leaving(let until): consider(until)
            case .ready:
                if let end = member.patienceEndsAt { consider(end) }
                if member.attempts.isEmpty {
                    consider(member.idleSince + limits.idle)
                } else {
                    consider(member.pingDueAt)
                    if let since = member.suspectSince, !suspects.isEmpty { consider(since + limits.probation) }
                }
            case .killed: break
            }
        }
        return next
    }

    func isLong(_ member: Member, _ now: Duration) -> Bool {
        member.suspectSince.map { now - $0 >= limits.probation } ?? false
    }
}
