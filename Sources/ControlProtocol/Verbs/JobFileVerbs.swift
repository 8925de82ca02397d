import Jobs

/// The verbs for the files of jobs: the logs of attempts, and results that are files.
public protocol JobFileVerbs: Sendable {
    /// Returns a stream with the entries of a log, in lists. The last entry of each attempt is its end. A stream that
    /// follows the log waits for further entries; no polling is involved. The caller may stop reading at any time.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is no such job or log, `invalidRequest` for an offset without an
    ///   attempt. The stream itself also throws ``ControlProblem``: `unavailable` if the daemon stops. Reading again, from
    ///   the offset of the next line, is safe.
    func log(_ request: LogRequest) async throws(ControlProblem) -> AsyncThrowingStream<[LogPiece], any Error>
    /// Returns the file that is the result of a job, with its content.
    ///
    /// - Throws: ``ControlProblem``: `notFound` if there is no such job, or its result is not a file; `conflict` if the
    ///   job is not final. Reading again is safe.
    func file(of job: JobID) async throws(ControlProblem) -> FileContent
}

extension LogRequest {
    /// Reads the job in the path, and `attempt`, `first_attempt`, `offset` and `follow` in the query.
    package init(_ request: RouteRequest) throws(ControlProblem) {
        let query = try request.query("attempt", "first_attempt", "offset", "follow")
        func attempt(_ name: String) throws(ControlProblem) -> Int? {
            guard let number = Int(exactly: try query.number(name) ?? 0) else {
                throw ControlProblem(.invalidRequest, "\"\(name)\" is too large.")
            }
            return number > 0 ? number : nil
        }
        self.init(
            job: try request.job(), attempt: try attempt("attempt"), first: try attempt("first_attempt"),
            offset: try query.number("offset") ?? 0, follows: try query.flag("follow"))
    }
}

extension ControlProblem {
    /// Creates the problem for a job without a log.
    ///
    /// - Parameter isShared: Whether other daemons may have run the job, and have its logs.
    package static func noLog(of job: JobRecord, attempt: Int?, isShared: Bool) -> ControlProblem {
        if job.attempt == 0 {
            return ControlProblem(
                .notFound,
                "Job \(job.id) has no log, because it has not started. Wait for its log with: halyard log --follow \(job.id)"
            )
        }
        if isShared {
            let name = attempt.map { "attempt \($0) of job \(job.id)" } ?? "job \(job.id)"
            return ControlProblem(
                .notFound,
                "This daemon has no log of \(name). The log is on the host of the daemon that ran it: ask that daemon. To list the daemons: halyard daemons"
            )
        }
        if let attempt {
            return ControlProblem(
                .notFound,
                "Attempt \(attempt) of job \(job.id) has no log. For the log of the last attempt: halyard log \(job.id)"
            )
        }
        return ControlProblem(
            .notFound,
            "Job \(job.id) has no log: its kind, \(job.kind), has written none. To see its attempts: halyard show \(job.id)"
        )
    }

    /// Creates the problem for a job whose result is not a file.
    ///
    /// - Parameter isShared: Whether other daemons may have run the job, and have its file.
    package static func noFile(of job: JobID, _ outcome: Outcome?, isShared: Bool) -> ControlProblem {
        switch outcome {
        case nil:
            ControlProblem(.conflict, "Job \(job) is not final yet. Wait for it with: halyard wait \(job)")
        case .succeeded? where isShared:
            ControlProblem(
                .notFound,
                "This daemon has no file of job \(job). If the result is a file, it is on the host of the daemon that ran the job: ask that daemon. To list the daemons: halyard daemons. To print the result: halyard result \(job)"
            )
        case .succeeded?:
            ControlProblem(.notFound, "The result of job \(job) is not a file. To print it: halyard result \(job)")
        case .some:
            ControlProblem(
                .notFound, "Job \(job) did not succeed, so it has no file. To see why: halyard result \(job)")
        }
    }
}
