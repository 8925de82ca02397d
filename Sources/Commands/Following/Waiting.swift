import ControlProtocol
import Jobs
import Synchronization

/// Waits for jobs and graphs, one after the other, prints how each job ended, and returns the exit code.
final class Waiting: Sendable {
    private let session: Session
    private let patience: Duration
    /// The last known state of every followed job.
    private let states = Mutex<[JobID: JobState]>([:])

    init(_ session: Session, patience: Duration) {
        self.session = session
        self.patience = patience
    }

    func wait(for work: [WorkArgument], timeout: Duration?) async throws -> ExitCode {
        guard session.isDaemon else { return try await withoutDaemon(work) }
        // Look first, since even finished work might miss a short time limit. If this look fails, the
        // watch reports the same error.
        if timeout != nil, let jobs = try? await jobs(of: work), let code = try await codeOfFinal(jobs) { return code }
        let isDone = try await within(timeout) { [self] in
            for piece in work { try report(try await follow(piece)) }
        }
        let states = states.withLock(\.self)
        try await FailureNotes(session: session, patience: patience).report(states)
        if !isDone {
            try session.note("--timeout passed before every job was final. See: \(Self.open(of: work, states))")
            return .jobOpen
        }
        return ExitCode(states: states.values)
    }

    /// Watches until the work is final, and returns its jobs.
    private func follow(_ work: WorkArgument) async throws -> [JobRecord] {
        var last: [JobID: JobRecord] = [:]
        var watch = LastingWatch(session, work.scope, patience: patience) { [self] notice in
            if let text = notice.text { try session.note(text) }
            guard case .event(.job(let job)) = notice else { return }
            last[job.id] = job
            states.withLock { $0[job.id] = job.state }
        }
        try await watch.run()
        return last.values.sorted { $0.id < $1.id }
    }

    /// Returns a command that shows the open work. Pieces of work are followed one after the other.
    private static func open(of work: [WorkArgument], _ states: [JobID: JobState]) -> String {
        if let job = states.filter({ !$0.value.isFinal }).keys.min() { return "halyard why \(job)" }
        for case .job(let id) in work where states[id] == nil { return "halyard why \(id)" }
        for case .graph(let id) in work.reversed() { return "halyard graph \(id.rawValue)" }
        return "halyard list --open"
    }

    /// Without a daemon nothing will change, so only final jobs can be reported.
    private func withoutDaemon(_ work: [WorkArgument]) async throws -> ExitCode {
        if let code = try await codeOfFinal(try await jobs(of: work)) { return code }
        try await session.requireDaemon(
            "Waiting for an open job", promise: " The enqueued jobs stay stored and run when a daemon starts.")
        return .jobOpen
    }

    /// Prints how the jobs ended, if all of them are final.
    ///
    /// - Returns: Nil if a job is open; then nothing is printed.
    private func codeOfFinal(_ jobs: [JobRecord]) async throws -> ExitCode? {
        guard jobs.allSatisfy(\.state.isFinal) else { return nil }
        try report(jobs)
        let states = Dictionary(jobs.map { ($0.id, $0.state) }, uniquingKeysWith: { $1 })
        try await FailureNotes(session: session, patience: patience).report(states)
        return ExitCode(states: states.values)
    }

    private func jobs(of work: [WorkArgument]) async throws -> [JobRecord] {
        var jobs: [JobRecord] = []
        for piece in work { jobs += try await self.jobs(of: piece) }
        return jobs
    }

    private func jobs(of work: WorkArgument) async throws -> [JobRecord] {
        switch work {
        case .job(let id):
            return [try await session.control.job(id).job]
        case .graph(let id):
            return try await session.control.graph(id).jobs
        }
    }

    private func report(_ jobs: [JobRecord]) throws {
        for job in jobs {
            try session.print(job) { try $0.line("\(job.id)  \(job.title)  " + job.state.text) }
        }
        try session.output.flush()
    }
}
