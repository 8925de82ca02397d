import Client
import ControlProtocol
import Glibc
import JobFiles
import Jobs
import StoreControl
import Stores

/// Opens the daemon's socket or, if no daemon runs, the database.
struct Connector {
    /// The action that the verb performs.
    enum Purpose { case reading, writing }

    private let socket: String
    private var database: String
    /// Whether the call names a socket and no database: it is meant for the daemon there and no other.
    private let isForOneDaemon: Bool
    /// Whether the call names its database.
    private let namesDatabase: Bool
    /// Whether the call names a database of a server and no socket: the verb is carried out there, without a daemon.
    private let isForServer: Bool
    private let surroundings: Surroundings
    private let isJSON: Bool
    private let timeout: Duration

    /// - Parameter timeout: The time limit for each answer of the daemon.
    init(_ options: CommonOptions, _ surroundings: Surroundings, timeout: Duration = .seconds(30)) {
        self.timeout = timeout
        let paths = DefaultPaths(variable: surroundings.variable, exists: { access($0, F_OK) == 0 })
        socket = options.socket ?? paths.socket
        database = options.database ?? paths.database
        namesDatabase = options.database != nil
        isForOneDaemon = options.socket != nil && options.database == nil
        isForServer = options.socket == nil && (options.database.map(Self.isURL) ?? false)
        self.surroundings = surroundings
        isJSON = options.json
    }

    /// Opens a session. A socket that systemd holds open counts as a daemon, since connecting starts it.
    ///
    /// A process that holds the database without listening is a daemon that starts or stops, or another
    /// `halyard`. Waits for such a process up to the lock patience. Several waiting commands take turns.
    func open(_ purpose: Purpose) async throws -> Session {
        let giveUpAt = ContinuousClock.now + surroundings.lockPatience
        var pause = Duration.milliseconds(5)
        while true {
            let noDaemon: ControlProblem
            do throws(ControlProblem) {
                if isForServer { throw ControlProblem(.noDaemon, "No daemon was asked.") }
                return try await openSocket()
            } catch {
                guard error.code == .noDaemon else { throw error }
                if isForOneDaemon { throw error }
                noDaemon = error
            }
            // A new database would contain no kinds and no definitions, so only the daemon creates one.
            guard isURL || access(database, F_OK) == 0 || errno == EACCES else {
                let remedy =
                    namesDatabase ? ". Check the path: only a daemon creates it." : "; name it with --database."
                throw CommandFailure(
                    .unavailable,
                    "\(sentence(noDaemon.message)) There is no database at \(database) either\(remedy)")
            }
            if !namesDatabase, !isURL, StoreFactory.isOutdated(fileAt: database) {
                do throws(StoreOpenFailure) {
                    // If the jobs were moved, this error says where they are.
                    _ = try opening().check()
                } catch {
                    throw failure(error, noDaemon)
                }
                throw CommandFailure(
                    .unavailable,
                    "\(sentence(noDaemon.message)) A daemon of this machine has used a database on a server since \(database) was last used. Start the daemon, or name the database with --database."
                )
            }
            do throws(StoreOpenFailure) {
                let rest = giveUpAt - ContinuousClock.now
                return try await openDatabase(purpose, noDaemon: noDaemon, patience: min(rest, .seconds(1)))
            } catch {
                guard case .reserved = error.cause, ContinuousClock.now < giveUpAt else {
                    throw failure(error, noDaemon)
                }
            }
            // A daemon that is starting gives no signal before it listens.
            try await Task.sleep(for: pause, clock: .continuous)
            pause = min(pause * 2, .milliseconds(200))
        }
    }

    /// Opens the database for reading, because the daemon that uses it did not answer in time.
    func openDatabase(insteadOf silence: ControlProblem) async throws -> Session {
        do throws(StoreOpenFailure) {
            let user = try opening().user
            // Otherwise the daemon uses another database, such as one on a server.
            if isURL || user != nil {
                return try await openDatabase(.reading, noDaemon: silence, patience: .zero)
            }
        } catch {
            throw silence
        }
        throw silence
    }

    /// Whether the database is named by a URL, or by a text that must be one.
    private var isURL: Bool { Self.isURL(database) }

    private static func isURL(_ database: String) -> Bool {
        do throws(DatabaseAddressProblem) {
            return try DatabaseAddress(database).path == nil
        } catch {
            return true
        }
    }

    /// The way to the database. On a server, the files of jobs are those of this host's daemon.
    private func opening() throws(StoreOpenFailure) -> any StoreOpening {
        try StoreFactory.opening(
            at: database, for: .brief, onServer: ServerSettings(home: StandardPaths.homeForServer),
            clock: surroundings.serverClock)
    }

    private func openSocket() async throws(ControlProblem) -> Session {
        let control = SocketControl(path: socket, timeout: timeout)
        try await control.connect()
        return Session(
            control: control, backend: .daemon(socket: socket), surroundings: surroundings, isJSON: isJSON,
            waitForDaemon: { () throws(ControlProblem) in try await control.waitForDaemon() },
            openStored: { (path) throws(StoreOpenFailure) in
                var connector = self
                if Self.isURL(path) {
                    // The daemon's name for a server has no password and no settings of the connection.
                    guard try opening().address.description == path else {
                        throw StoreOpenFailure(.unreadable, "\(path) is not the database that this command would use.")
                    }
                } else {
                    connector.database = path
                }
                let gone = ControlProblem(.noDaemon, "The daemon stopped.")
                return try await connector.openDatabase(.reading, noDaemon: gone, patience: .zero)
            }, close: {})
    }

    /// - Parameter patience: How long to wait for another command that holds the database.
    private func openDatabase(
        _ purpose: Purpose, noDaemon: ControlProblem, patience: Duration
    ) async throws(StoreOpenFailure) -> Session {
        let opening = try opening()
        let opened: OpenedStore
        var reserved: (any ReservedStore)?
        var user: StoreUser?
        switch purpose {
        case .reading:
            opened = try await opening.openForReading()
            user = opening.user
        case .writing:
            let own = try await opening.reserve(as: .command, waiting: max(patience, .zero)) { _ in }
            reserved = own
            opened = try await own.open()
        }
        return Session(
            control: StoreControl(
                store: opened.store, database: opened.name, version: Version.current,
                files: JobFiles(nextTo: opened.home), now: surroundings.now),
            backend: .database(
                .init(
                    path: opening.address.description, isShared: opened.store.capabilities.holders == .many,
                    socket: socket, holder: user)), surroundings: surroundings,
            isJSON: isJSON,
            waitForDaemon: { () throws(ControlProblem) in throw noDaemon },
            openStored: nil,
            close: { [reserved] in
                await opened.close()
                reserved?.release()
            })
    }

    private func failure(_ error: StoreOpenFailure, _ noDaemon: ControlProblem) -> CommandFailure {
        switch error.cause {
        case .reserved(let pid):
            // The message then lacks only the path and the process.
            let opening = try? opening()
            let path = opening?.address.description ?? "the database"
            let process = pid.map { "process \($0)" } ?? "another process"
            // If the role is unknown, assume a daemon.
            switch opening?.user?.role {
            case .once:
                return CommandFailure(
                    .temporary,
                    "\(path) is in use by \(process), a run of halyardd --once, which has no socket. Try again after it ends."
                )
            case .command:
                return CommandFailure(
                    .temporary, "\(path) is in use by \(process), another command. Try again after it ends.")
            case .daemon, nil:
                return CommandFailure(
                    .unavailable,
                    "\(path) is in use by \(process), but no daemon answers on \(socket). Name its socket with --socket."
                )
            }
        // The daemon's user owns the database, so the caller needs a running daemon, not other permissions.
        case .readOnly: return CommandFailure(noDaemon)
        case .wrong where isURL: return CommandFailure(.usage, error.description)
        case .moved: return CommandFailure(.data, error.description)
        case .unreadable: return CommandFailure(.permission, "\(error)")
        case .busy: return CommandFailure(.temporary, "\(error)")
        case .unusable: return CommandFailure(.configuration, "\(error)")
        case .otherProgram where isURL: return CommandFailure(.configuration, "\(error)")
        case .passing(errno: EACCES) where isURL: return CommandFailure(.permission, "\(error)")
        case .missing where isURL, .passing where isURL: return CommandFailure(.unavailable, "\(error)")
        default: return CommandFailure(.inputOutput, "\(error)")
        }
    }
}
