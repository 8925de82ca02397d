import Control

/// An open way to the jobs: the daemon, or the database itself where no daemon runs.
struct Session: Sendable {
    enum Place: Sendable, Hashable {
        case daemon(socket: String)
        case database(path: String)
    }

    let control: any JobControl
    let place: Place
    /// Returns once the daemon listens (again).
    let waitForDaemon: @Sendable () async throws(ControlProblem) -> Void
    /// Ends the connection, or closes the database and gives its lock back.
    let close: @Sendable () async -> Void

    var isDaemon: Bool {
        if case .daemon = place { true } else { false }
    }

    /// Opens a session for one piece of work.
    static func with<T>(
        _ options: CommonOptions, for purpose: Connector.Purpose, in surroundings: Surroundings,
        _ work: (Session) async throws -> T
    ) async throws -> T {
        let session = try await Connector(options, surroundings).open(purpose)
        do {
            let value = try await work(session)
            await session.close()
            return value
        } catch {
            await session.close()
            throw error
        }
    }

    /// For verbs that only a daemon can carry out.
    func requireDaemon(_ what: String) throws {
        guard case .database(let path) = place else { return }
        throw CommandFailure(
            .unavailable, "\(what) needs the daemon, and none runs for \(path). Start it with: systemctl start halyard"
        )
    }

    /// Tells who must know that the change waits in the database.
    func noteWritten(in surroundings: Surroundings, willRun: Bool = false) throws {
        guard case .database(let path) = place else { return }
        try surroundings.note(
            willRun
                ? "no daemon runs; wrote to \(path), it will run when halyardd starts"
                : "no daemon runs; wrote to \(path)")
    }
}
