import ControlProtocol
import Jobs

/// Watches across restarts of the daemon. When the daemon goes away, it waits until the daemon is back and
/// continues from the stored state.
///
/// 1. For one job or graph, it reports only changes after a gap, so no job is reported final twice. For all
///    jobs, it reports the event `missed`, running jobs that were not reported before, and the end of jobs that
///    were last reported as open.
/// 2. A gap is reported once, however many tries it takes, and ends when the daemon answers.
/// 3. When the daemon goes away, the final jobs are read from its database, so that nobody has to wait for the
///    next daemon: a draining daemon may stop before it reports the last ends. For all jobs, only jobs that
///    were last reported as open are read.
struct LastingWatch {
    enum Notice: Sendable {
        case event(WatchEvent)
        /// The daemon is gone. The text says what is known to be open, how long the watch waits for the daemon,
        /// and how to start it.
        case gone(String)
        case back

        /// The message for people; nil for an event.
        var text: StyledText? {
            switch self {
            case .event: nil
            case .gone(let what): "the daemon stopped\(what)"
            case .back: "the daemon is running again"
            }
        }
    }

    let session: Session
    let scope: WatchScope
    let report: (Notice) throws -> Void

    private var reported: [JobID: Snapshot] = [:]
    private var gap: DaemonGap

    init(_ session: Session, _ scope: WatchScope, patience: Duration, report: @escaping (Notice) throws -> Void) {
        self.session = session
        self.scope = scope
        gap = DaemonGap(session, patience: patience)
        self.report = report
    }

    /// Watches, and returns after the event `final`.
    ///
    /// - Throws: The errors of `report`; ``CommandFailure`` with `temporary` if the daemon does not come back.
    mutating func run() async throws {
        while true {
            do {
                return try await watch()
            } catch let problem as ControlProblem where problem.code == .noDaemon || problem.code == .unavailable {
                try Task.checkCancellation()
                var isOpen = false
                if !gap.isOpen, scope == .all { try await reportStoredEnds() }
                if !gap.isOpen, let jobs = try await storedJobs() {
                    if jobs.allSatisfy(\.state.isFinal) { return try reportEnd(of: jobs) }
                    isOpen = true
                }
                try await reconnect(after: problem, isOpen: isOpen)
            }
        }
    }

    private mutating func watch() async throws {
        let events = try await session.control.watch(scope)
        if gap.end() {
            try report(.back)
            if scope == .all { try await catchUp() }
        }
        for try await event in events {
            gap.endPause()
            // 1.
            if case .job(let job) = event, !isChange(job) { continue }
            try report(.event(event))
            if event == .final { return }
        }
        try Task.checkCancellation()
        throw ControlProblem(.unavailable, "The daemon ended the stream.")
    }

    /// Reads the stored jobs (3). Returns nil if they cannot be read, and for all jobs, whose number has no
    /// bound.
    private func storedJobs() async throws -> [JobRecord]? {
        switch scope {
        case .job(let id): try await session.readStored(patience: gap.readPatience) { [try await $0.record(id)] }
        case .graph(let id): try await session.readStored(patience: gap.readPatience) { try await $0.graph(id).jobs }
        case .all: nil
        }
    }

    /// Reports the ends of jobs from the database (3). If it cannot be read, they are reported when the daemon is back.
    private mutating func reportStoredEnds() async throws {
        let open = reported.filter { !$0.value.state.isFinal }.keys.sorted()
        guard !open.isEmpty else { return }
        let jobs = try await session.readStored(patience: gap.readPatience) { control in
            var jobs: [JobRecord] = []
            for id in open {
                do {
                    jobs.append(try await control.record(id))
                } catch let problem as ControlProblem where problem.code == .notFound {
                    // Pruned in the meantime.
                }
            }
            return jobs
        }
        for job in jobs ?? [] where job.state.isFinal && isChange(job) { try report(.event(.job(job))) }
    }

    private mutating func reportEnd(of jobs: [JobRecord]) throws {
        for job in jobs where isChange(job) { try report(.event(.job(job))) }
        try report(.event(.final))
    }

    private mutating func catchUp() async throws {
        try report(.event(.missed))
        reported = reported.filter { !$0.value.state.isFinal }
        for id in reported.keys.sorted() {
            do {
                let job = try await session.control.record(id)
                guard isChange(job) else { continue }
                try report(.event(.job(job)))
                // Remember the end, so that the stream, which began earlier, does not report it again.
                if job.state.isFinal { reported[id] = Snapshot(job) }
            } catch let problem as ControlProblem where problem.code == .notFound {
                // Pruned in the meantime.
                reported[id] = nil
            }
        }
    }

    /// The last reported facts of a job.
    private struct Snapshot: Equatable {
        var state: JobState
        var attempt: Int
        var dueAt: Timestamp?
        var cancelRequestedAt: Timestamp?

        init(_ job: JobRecord) {
            state = job.state
            attempt = job.attempt
            dueAt = job.dueAt
            cancelRequestedAt = job.cancelRequestedAt
        }

        /// Grows with time: each attempt of a job runs, and then the job waits or is final.
        var stage: (Int, Int) { (attempt, state == .running ? 0 : state.isFinal ? 2 : 1) }
    }

    private mutating func isChange(_ job: JobRecord) -> Bool {
        let snapshot = Snapshot(job)
        // After a gap, the stream may report older states than the ones that were read.
        if let last = reported[job.id], last == snapshot || snapshot.stage < last.stage { return false }
        // A final job does not change. Of all jobs, the final ones are forgotten, since their number has no
        // bound.
        reported[job.id] = scope == .all && job.state.isFinal ? nil : snapshot
        return true
    }

    /// - Parameter isOpen: Whether some job is known to be open.
    private mutating func reconnect(after problem: ControlProblem, isOpen: Bool) async throws {
        // 2.
        try await gap.wait(
            after: problem, advice: "The jobs are stored; wait again when the daemon runs."
        ) { [gap, report, scope] in try report(.gone(Self.open(scope, isOpen) + gap.text)) }
    }

    private static func open(_ scope: WatchScope, _ isOpen: Bool) -> String {
        switch scope {
        case .job(let id) where isOpen: " and job \(id) is not final"
        case .graph(let id) where isOpen: " and graph \(id) is not final"
        default: ""
        }
    }
}
