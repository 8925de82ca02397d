import Control
import Jobs
import SQLiteStore

/// An open way to the jobs: the daemon, or the database itself where no daemon runs.
struct Session: Sendable {
    enum Place: Sendable, Hashable {
        case daemon(socket: String)
        case database(Offline)
    }

    /// A database whose daemon does not answer.
    struct Offline: Sendable, Hashable {
        var path: String
        /// On which nobody answered.
        var socket: String
        /// Who holds the database all the same; nil where nobody does.
        var holder: LockHolder?

        /// A daemon that starts, stops, or listens elsewhere; nil where none runs.
        var daemon: String? {
            guard let holder, holder.isLivingDaemon, let pid = holder.pid else { return nil }
            return
                "process \(pid) holds \(path), but does not answer on \(socket): it starts, stops, or has another socket (--socket)"
        }

        /// What a person types to have a daemon.
        var start: String {
            path == StandardPaths.database ? "systemctl start halyard" : "halyardd --database \(path)"
        }
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
        guard case .database(let offline) = place else { return }
        throw CommandFailure(
            .unavailable,
            offline.daemon.map { "\(what) needs the daemon; \($0)." }
                ?? "\(what) needs the daemon, and none runs for \(offline.path). Start it with: \(offline.start)")
    }

    /// Tells who must know that the change waits in the database.
    func noteWritten(in surroundings: Surroundings, willRun: Bool = false) throws {
        guard case .database(let offline) = place else { return }
        try surroundings.note(
            willRun
                ? "no daemon runs; wrote to \(offline.path), it will run when halyardd starts"
                : "no daemon runs; wrote to \(offline.path)")
    }

    /// Tells who might take what a daemon left for what happens now.
    func noteRunning(_ states: some Sequence<JobState>, in surroundings: Surroundings) throws {
        guard case .database(let offline) = place, states.contains(.running) else { return }
        if let daemon = offline.daemon {
            try surroundings.note("\(daemon)")
        } else {
            try surroundings.note(
                "no daemon runs; what is shown as running was when it ended, and runs again when halyardd starts")
        }
    }
}
