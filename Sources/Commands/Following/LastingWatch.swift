import Control
import Jobs

/// Watches beyond the daemon's life: when it goes, waits until it is there again and goes on from what is stored.
///
/// 1. Of one job or graph only changes are told after a gap, so no job is told final twice. Of all jobs the event `missed`
///    is told, what runs, and how those ended that were told as open.
/// 2. A gap is told once, however many tries it takes, and ends when the daemon answers.
/// 3. What is final when the daemon goes is read from its database, so that nobody waits for the next one: of what ends
///    last in a drain the daemon may not tell any more.
struct LastingWatch {
    enum Notice: Sendable {
        case event(WatchEvent)
        /// The daemon, with what to do about it.
        case gone(String)
        case back

        /// For people; nil for an event.
        var text: StyledText? {
            switch self {
            case .event: nil
            case .gone(let remedy): "the daemon is gone; \(remedy)"
            case .back: "the daemon is back"
            }
        }
    }

    let session: Session
    let scope: WatchScope
    /// How long a gap may be.
    let patience: Duration
    let tell: (Notice) throws -> Void

    private var told: [JobID: Telling] = [:]
    private var goneSince: ContinuousClock.Instant?
    /// Between tries, for a daemon that answers and then goes at once.
    private var pause = Duration.zero

    init(_ session: Session, _ scope: WatchScope, patience: Duration, tell: @escaping (Notice) throws -> Void) {
        self.session = session
        self.scope = scope
        self.patience = patience
        self.tell = tell
    }

    /// Returns after the event `final`.
    ///
    /// - Throws: What `tell` throws; a ``CommandFailure`` with `temporary` when the daemon stays away.
    mutating func run() async throws {
        while true {
            do {
                return try await watch()
            } catch let problem as ControlProblem where problem.code == .noDaemon || problem.code == .unavailable {
                try Task.checkCancellation()
                if goneSince == nil, try await endsInDatabase() { return }
                try await reconnect(after: problem)
            }
        }
    }

    private mutating func watch() async throws {
        let events = try await session.control.watch(scope)
        if goneSince != nil {
            goneSince = nil
            try tell(.back)
            if scope == .all { try await catchUp() }
        }
        for try await event in events {
            pause = .zero
            if case .job(let job) = event {
                // 1.
                guard isChange(job) || scope == .all else { continue }
            }
            try tell(.event(event))
            if event == .final { return }
        }
        try Task.checkCancellation()
        throw ControlProblem(.unavailable, "The daemon ended the stream.")
    }

    /// 3.
    private mutating func endsInDatabase() async throws -> Bool {
        let jobs = try await session.readStored { [scope] stored -> [JobRecord] in
            switch scope {
            case .job(let id): return [try await stored.job(id).job]
            case .graph(let id):
                let detail = try await stored.graph(id)
                return detail.graph.finishedAt == nil ? [] : detail.jobs
            case .all: return []
            }
        }
        guard let jobs, !jobs.isEmpty, jobs.allSatisfy(\.state.isFinal) else { return false }
        for job in jobs where isChange(job) { try tell(.event(.job(job))) }
        try tell(.event(.final))
        return true
    }

    private mutating func catchUp() async throws {
        try tell(.event(.missed))
        for id in told.keys.sorted() {
            do {
                let job = try await session.control.job(id).job
                if isChange(job) { try tell(.event(.job(job))) }
            } catch let problem as ControlProblem where problem.code == .notFound {
                // Pruned meanwhile.
                told[id] = nil
            }
        }
    }

    /// What has been told of a job.
    private struct Telling: Equatable {
        var state: JobState
        var attempt: Int
        var dueAt: Timestamp?
        var cancelRequestedAt: Timestamp?
    }

    private mutating func isChange(_ job: JobRecord) -> Bool {
        let telling = Telling(
            state: job.state, attempt: job.attempt, dueAt: job.dueAt, cancelRequestedAt: job.cancelRequestedAt)
        defer { told[job.id] = scope == .all && job.state.isFinal ? nil : telling }
        return told[job.id] != telling
    }

    private mutating func reconnect(after problem: ControlProblem) async throws {
        let since = goneSince ?? .now
        // 2.
        if goneSince == nil, patience > .zero { try tell(.gone(remedy)) }
        goneSince = since
        let isBack = try await within(patience - (.now - since)) { [session, pause] in
            try await Task.sleep(for: pause, clock: .continuous)
            try await session.waitForDaemon()
        }
        guard isBack else {
            let waited = patience > .zero ? " It stayed away for \(patience.human)." : ""
            throw CommandFailure(
                .temporary, "\(problem.message)\(waited) The jobs are kept; wait again when the daemon runs.")
        }
        pause = min(max(pause * 2, .milliseconds(50)), .seconds(1))
    }

    private var remedy: String {
        let start = session.daemonDatabase.map { ". Start it with: \(Session.start(for: $0))" } ?? ""
        return "waiting up to \(patience.human) for it to come back, since not all is final\(start)"
    }
}

/// Does long work, but no longer than that.
///
/// - Returns: Whether it was done.
func within(_ time: Duration?, _ work: @escaping @Sendable () async throws -> Void) async throws -> Bool {
    guard let time else {
        try await work()
        return true
    }
    return try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask {
            try await work()
            return true
        }
        group.addTask {
            try await Task.sleep(for: time, clock: .continuous)
            return false
        }
        let isDone = try await group.next() ?? false
        group.cancelAll()
        return isDone
    }
}
