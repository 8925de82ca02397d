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
    /// - Throws: ``ControlProblem``: `invalidConfiguration` if the configuration is wrong or changes a setting
    ///   that needs a restart, `noDaemon` if no daemon is running.
    func reload() async throws(ControlProblem)
    /// Returns the worker programs of the daemon, the built-in one first.
    ///
    /// - Throws: ``ControlProblem``, `noDaemon` if no daemon is running.
    func workers() async throws(ControlProblem) -> [WorkerRecord]
    /// Returns the daemons that run jobs of the database and those that ended within a day, in the order of their starts.
    ///
    /// - Throws: ``ControlProblem``.
    func daemons() async throws(ControlProblem) -> [DaemonRecord]
}

extension CallingControl {
    public func status() async throws(ControlProblem) -> StatusReport { try await value(of: Call(.get, "status")) }

    public func reload() async throws(ControlProblem) { _ = try await send(Call(.post, "reload")) }

    public func workers() async throws(ControlProblem) -> [WorkerRecord] { try await value(of: Call(.get, "workers")) }

    public func daemons() async throws(ControlProblem) -> [DaemonRecord] { try await value(of: Call(.get, "daemons")) }
}

extension Route {
    static func daemon(_ control: any JobControl) -> [Route] {
        [
            Route(.get, "status") { _ in .value(try await control.status().json) },
            Route(.post, "reload") { _ in
                try await control.reload()
                return .done
            },
            Route(.get, "workers") { _ in .value(try await control.workers().json) },
            Route(.get, "daemons") { _ in .value(try await control.daemons().json) },
        ]
    }
}
