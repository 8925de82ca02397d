import Jobs

/// The verbs for the daemon itself.
public protocol DaemonVerbs: Sendable {
    /// Returns the state of the daemon, the queues and the database. If no daemon is running, the state is
    /// `stopped`.
    ///
    /// - Throws: ``ControlProblem``.
    func status() async throws(ControlProblem) -> StatusReport
    /// Reads the configuration and the definitions again. An invalid configuration changes nothing. Repeating
    /// the call is safe.
    ///
    /// - Returns: What an administrator should know although the reload was carried out.
    /// - Throws: ``ControlProblem``: `invalidConfiguration` if the configuration is wrong or changes a setting
    ///   that needs a restart, `noDaemon` if no daemon is running.
    @discardableResult
    func reload() async throws(ControlProblem) -> ReloadReport
    /// Returns the worker programs of the daemon, the built-in one first.
    ///
    /// - Throws: ``ControlProblem``, `noDaemon` if no daemon is running.
    func workers() async throws(ControlProblem) -> [WorkerRecord]
    /// Returns the daemons that run jobs of the database and those that ended within a day, in the order of their starts.
    ///
    /// - Throws: ``ControlProblem``.
    func daemons() async throws(ControlProblem) -> [DaemonRecord]
    /// Drains a daemon or resumes it. A drained daemon starts no jobs and fires no schedules, also after a restart; its
    /// running jobs continue. Repeating the call is safe.
    ///
    /// - Parameter name: ``DaemonRecord/name``.
    /// - Returns: The daemon after the change.
    /// - Throws: ``ControlProblem``: `notFound` if there is no daemon of this name, `conflict` if several daemons have it,
    ///   or if the database has only one daemon.
    func setDrained(_ isDrained: Bool, daemon name: String) async throws(ControlProblem) -> DaemonRecord
}

extension CallingControl {
    public func status() async throws(ControlProblem) -> StatusReport { try await value(of: Call(.get, "status")) }

    @discardableResult
    public func reload() async throws(ControlProblem) -> ReloadReport {
        var call = Call(.post, "reload")
        // The daemon waits for each worker program to introduce itself.
        call.extraTime = .seconds(60)
        let body = try await send(call)
        // An earlier release answers without a body.
        return body.isEmpty ? ReloadReport() : try ReloadReport(response: body)
    }

    public func workers() async throws(ControlProblem) -> [WorkerRecord] { try await value(of: Call(.get, "workers")) }

    public func daemons() async throws(ControlProblem) -> [DaemonRecord] { try await value(of: Call(.get, "daemons")) }

    public func setDrained(_ isDrained: Bool, daemon name: String) async throws(ControlProblem) -> DaemonRecord {
        try await value(of: Call(.post, "daemons", name, isDrained ? "drain" : "resume"))
    }
}

extension Route {
    static func daemon(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "status") { _ in .value(try await control.status().json) },
            Route(.post, "reload") { _ in .value(try await control.reload().json) },
            Route(.get, "workers") { _ in .value(try await control.workers().json) },
            Route(.get, "daemons") { _ in .value(try await control.daemons().json) },
            Route(.post, "daemons/{name}/drain") { request in
                .value(try await control.setDrained(true, daemon: request.name).json)
            },
            Route(.post, "daemons/{name}/resume") { request in
                .value(try await control.setDrained(false, daemon: request.name).json)
            },
        ]
    }
}
