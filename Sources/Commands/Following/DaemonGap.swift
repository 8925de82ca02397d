import ControlProtocol
import Jobs

/// A period in which no daemon answers: from the first failed request to the next response.
struct DaemonGap {
    let session: Session
    /// How long to wait for the daemon in one gap.
    let patience: Duration
    private var since: ContinuousClock.Instant?
    /// The wait before the next try. It grows if a daemon answers and goes away again at once.
    private var pause = Duration.zero

    init(_ session: Session, patience: Duration) {
        self.session = session
        self.patience = patience
    }

    var isOpen: Bool { since != nil }

    /// How long to wait for the database of a daemon that has gone: at least a second, since a stopping daemon holds its
    /// database a moment longer.
    var readPatience: Duration { max(patience, .seconds(1)) }

    /// Waits until a daemon listens. `report` is called only once in a gap, however many tries it takes.
    ///
    /// - Parameter advice: What to do if the daemon does not come back, as a sentence.
    /// - Throws: ``CommandFailure`` with `temporary` if the daemon does not come back.
    mutating func wait(after problem: ControlProblem, advice: String, report: () throws -> Void) async throws {
        let since = since ?? .now
        if !isOpen, patience > .zero { try report() }
        self.since = since
        let isBack = try await within(patience - (.now - since)) { [session, pause] in
            try await Task.sleep(for: pause, clock: .continuous)
            try await session.waitForDaemon()
        }
        guard isBack else {
            let waited = patience > .zero ? " It did not come back within \(patience.human)." : ""
            throw CommandFailure(.temporary, "\(problem.message)\(waited) \(advice)")
        }
        pause = min(max(pause * 2, .milliseconds(50)), .seconds(1))
    }

    /// The daemon answers again.
    ///
    /// - Returns: Whether there was a gap.
    mutating func end() -> Bool {
        defer { since = nil }
        return isOpen
    }

    /// Resets the back-off, because the daemon stayed long enough to send something.
    mutating func endPause() { pause = .zero }

    /// The wait for the daemon, and how to start it.
    var text: String {
        let start = session.daemonDatabase.map { ". \(Session.start(for: $0))" } ?? ""
        return "; waiting up to \(patience.human) for it to come back\(start)"
    }
}

/// Runs `work` for at most `time`, and cancels it then.
///
/// - Returns: Whether the work was done in time.
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
