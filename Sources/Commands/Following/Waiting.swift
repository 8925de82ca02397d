import ControlProtocol
import Jobs

/// Waits for jobs and graphs, prints how each job ended, and returns the exit code.
struct Waiting: Sendable {
    private let session: Session
    private let surroundings: Surroundings
    private let isJSON: Bool
    private let patience: Duration

    init(_ session: Session, _ surroundings: Surroundings, _ common: CommonOptions, _ follow: FollowOptions) {
        self.session = session
        self.surroundings = surroundings
        isJSON = common.json
        patience = follow.reconnect.duration
    }

    /// Waits for the jobs of an enqueue, if the options ask for it.
    func wait(for receipt: EnqueueReceipt, _ options: WaitOptions) async throws -> ExitCode {
        guard options.wait else { return .success }
        return try await wait(
            for: receipt.graph.map { [.graph($0)] } ?? receipt.jobs.map { .job($0) },
            timeout: options.timeout?.duration)
    }

    func wait(for work: [WorkArgument], timeout: Duration?) async throws -> ExitCode {
        guard session.isDaemon else { return try await withoutDaemon(work) }
        // Look first, since even finished work might miss a short time limit. If this look fails, the
        // watch reports the same error.
        if timeout != nil, let jobs = try? await jobs(of: work), let code = try await codeOfFinal(jobs) { return code }
        let follower = Follower(session, surroundings, patience: patience)
        let isDone = try await follower.follow(work, timeout: timeout) { try tell($0) }
        try await FailureNotes(session: session, surroundings: surroundings, patience: patience).tell(follower.states)
        if !isDone {
            let open = Self.open(of: work, follower.states)
            try surroundings.note("--timeout passed before every job was final. See: \(open)")
            return .jobOpen
        }
        return ExitCode(states: follower.states.values)
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
        try session.requireDaemon(
            "Waiting for an open job", promise: " The enqueued jobs stay stored and run when a daemon starts.")
        return .jobOpen
    }

    /// Prints how the jobs ended, if all of them are final.
    ///
    /// - Returns: Nil if a job is open; then nothing is printed.
    private func codeOfFinal(_ jobs: [JobRecord]) async throws -> ExitCode? {
        guard jobs.allSatisfy(\.state.isFinal) else { return nil }
        try tell(jobs)
        let states = Dictionary(jobs.map { ($0.id, $0.state) }, uniquingKeysWith: { $1 })
        try await FailureNotes(session: session, surroundings: surroundings, patience: patience).tell(states)
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
            let detail = try await session.control.job(id)
            return [detail.job]
        case .graph(let id):
            let detail = try await session.control.graph(id)
            return detail.jobs
        }
    }

    private func tell(_ jobs: [JobRecord]) throws {
        for job in jobs {
            if isJSON {
                try surroundings.output.json(job.json)
            } else {
                try surroundings.output.line("\(job.id)  \(job.title)  " + job.state.text)
            }
        }
        try surroundings.output.flush()
    }
}
