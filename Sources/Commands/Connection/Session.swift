import ControlProtocol
import Jobs
import Stores

/// A connection to the daemon or, if no daemon runs, the open database.
struct Session: Sendable {
    /// Where the verbs are carried out.
    enum Backend: Sendable, Hashable {
        case daemon(socket: String)
        case database(Offline)
    }

    /// A database whose daemon does not answer.
    struct Offline: Sendable, Hashable {
        var path: String
        /// Whether daemons of other machines may use the database.
        var isShared = false
        /// The socket on which no daemon answered.
        var socket: String
        /// The process that holds the database nevertheless; nil if none does.
        var holder: StoreUser?

        /// Describes a daemon that holds the database but does not answer on the socket, because it starts, stops,
        /// or has another socket or none. Nil if no daemon runs.
        var daemon: String? {
            guard let holder, holder.isLivingDaemon, let pid = holder.pid else { return nil }
            if holder.role == .once {
                return "process \(pid) holds \(path): a run of halyardd --once, which has no socket"
            }
            return
                "process \(pid) holds \(path), but does not answer on \(socket): it is starting or stopping, or it listens on another socket (--socket)"
        }

        var start: String { Session.start(for: path) }
    }

    /// Returns how to start a daemon with the right configuration. With another one, it might fail jobs that it
    /// would otherwise run.
    static func start(for database: String) -> String {
        database == StandardPaths.database
            ? "Start the daemon with: systemctl start halyard"
            : "Start halyardd with the same --config as before; its database is \(database)"
    }

    let control: any JobControl
    let backend: Backend
    let surroundings: Surroundings
    /// Whether values are printed as JSON.
    let isJSON: Bool
    /// Returns when a daemon listens on the socket.
    let waitForDaemon: @Sendable () async throws(ControlProblem) -> Void
    /// Opens the daemon's database for reading, even if the daemon is gone; nil if the session itself is a
    /// database.
    let openStored: (@Sendable (_ database: String) async throws(StoreOpenFailure) -> Session)?
    /// Closes the connection, or closes the database and releases its lock.
    let close: @Sendable () async -> Void

    var isDaemon: Bool {
        if case .daemon = backend { true } else { false }
    }

    /// The database as the daemon named it in its last answer; nil if the session is not a daemon's.
    var daemonDatabase: String? { isDaemon ? control.databasePath : nil }

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

    /// Reads the stored state without the daemon.
    ///
    /// - Parameter patience: How long to wait if the database is in use, for example while a daemon closes it.
    /// - Returns: Nil if the database cannot be read; then only the daemon has the answer.
    /// - Throws: A ``ControlProblem`` with `notFound`, which is an answer; `CancellationError` if the task is
    ///   cancelled.
    func readStored<T>(
        patience: Duration, _ read: (any JobControl) async throws -> T
    ) async throws -> T? {
        guard let daemonDatabase, let openStored else { return nil }
        let giveUpAt = ContinuousClock.now + patience
        for wait in [10, 20, 50, 100, 200, 500] {
            do {
                let stored = try await openStored(daemonDatabase)
                let value: Result<T, any Error>
                do {
                    value = .success(try await read(stored.control))
                } catch {
                    value = .failure(error)
                }
                await stored.close()
                return try value.get()
            } catch let problem as ControlProblem where problem.code == .notFound {
                throw problem
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                guard Self.mayPass(error) else { return nil }
            }
            let pause = Duration.milliseconds(wait)
            if ContinuousClock.now + pause > giveUpAt { return nil }
            try await Task.sleep(for: pause, clock: .continuous)
        }
        return nil
    }

    private static func mayPass(_ error: any Error) -> Bool {
        switch error {
        case let failure as StoreOpenFailure: failure.mayPass
        case let problem as ControlProblem: problem.code == .unavailable
        default: false
        }
    }

    /// Returns the part of the definitions that an enqueue by this name needs.
    func definitions(for name: String) async throws -> DefinitionSet {
        do {
            return try await control.definitions(for: name)
        } catch let problem where problem.code == .unknownDefinition {
            throw CommandFailure(.noInput, problem.message, see: "halyard definitions list")
        }
    }

    func enqueue(_ submission: Submission) async throws -> SubmissionAnswer {
        guard let answer = try await control.enqueue([submission]).first else {
            throw CommandFailure(.software, "The daemon did not respond to the submission. Check with: halyard list")
        }
        return answer
    }

    /// Refuses a verb that only a daemon can carry out.
    ///
    /// - Parameter promise: A sentence about what remains true without a daemon.
    func requireDaemon(_ what: String, promise: String = "") async throws {
        guard case .database(let offline) = backend else { return }
        throw CommandFailure(
            .unavailable,
            await isServed(offline)
                ? "\(what) needs the daemon: name its socket with --socket, without --database."
                : offline.daemon.map { "\(what) needs the daemon; \($0)." }
                    ?? "\(what) needs the daemon, and none runs for \(offline.path).\(promise) \(offline.start)")
    }

    /// Prints a note that the change is in the database and waits for a daemon.
    func noteWritten(willRun: Bool = false) async throws {
        guard case .database(let offline) = backend else { return }
        if await isServed(offline) { return try note("wrote to \(offline.path)") }
        try note(
            willRun
                ? "no daemon is running; wrote to \(offline.path); it will run when halyardd starts"
                : "no daemon is running; wrote to \(offline.path)")
    }

    /// Prints a note that jobs may be shown as running although their daemon is gone.
    func noteRunning(_ states: some Sequence<JobState>) async throws {
        guard case .database(let offline) = backend, states.contains(.running), await !isServed(offline) else { return }
        if let daemon = offline.daemon {
            try note("\(daemon)")
        } else {
            try note("\(Self.runningWithoutDaemon)")
        }
    }

    /// Prints a note about what happens to a job that is not final, if no daemon runs.
    func noteOpen(_ job: JobRecord) async throws {
        if job.state.isFinal { return }
        guard let start = try await startOfMissingDaemon() else { return try await noteRunning([job.state]) }
        switch (job.state, job.cancelRequestedAt) {
        case (.running, nil): try await noteRunning([job.state])
        case (.running, _):
            try note("no daemon is running; the job was interrupted and will be cancelled when a daemon starts")
        default: try note("no daemon is running, so the job does not run. \(start)")
        }
    }

    static let runningWithoutDaemon =
        "no daemon is running; jobs shown as running were interrupted and run again when halyardd starts"

    /// How to start a daemon, if none runs for the session's database; nil if one runs, starts or stops.
    func startOfMissingDaemon() async throws -> String? {
        guard case .database(let offline) = backend, offline.daemon == nil, await !isServed(offline) else { return nil }
        return offline.start
    }

    /// Whether the database is on a server, and a daemon uses it to which the session is not connected.
    private func isServed(_ offline: Offline) async -> Bool {
        guard offline.isShared else { return false }
        do throws(ControlProblem) {
            return try await control.daemons().contains { $0.state == .running }
        } catch {
            // The verb has succeeded, so it must not fail because of a note. Without this fact, the note is shorter.
            return true
        }
    }
}

extension Session {
    var output: Output { surroundings.output }
    var now: Timestamp { surroundings.now() }

    /// Prints a note for people on standard error.
    func note(_ text: StyledText) throws { try surroundings.note(text) }

    /// Prints a value as JSON, or as `text` prints it for people.
    func print(_ value: some WireValue, text: (Output) throws -> Void) throws {
        if isJSON { try output.json(value.json) } else { try text(output) }
    }

    /// Prints a value as JSON, or as a table for people.
    func print(_ value: some WireValue, _ table: @autoclosure () -> Table) throws {
        try print(value) { try $0.table(table()) }
    }
}
