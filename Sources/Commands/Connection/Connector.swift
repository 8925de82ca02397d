import Client
import Control
import Glibc
import SQLiteStore

/// Finds the way to the jobs: the daemon's socket, else the database.
struct Connector {
    /// What the verb is about to do.
    enum Purpose { case reading, writing }

    private let socket: String
    private let database: String
    private let surroundings: Surroundings

    init(_ options: CommonOptions, _ surroundings: Surroundings) {
        let paths = DefaultPaths(variable: surroundings.variable, exists: { access($0, F_OK) == 0 })
        socket = options.socket ?? paths.socket
        database = options.database ?? paths.database
        self.surroundings = surroundings
    }

    /// A socket that systemd holds open counts as a daemon: connecting starts it.
    ///
    /// Whoever holds the database without listening is a daemon that starts or stops, or another `halyard`: that is waited
    /// for.
    func open(_ purpose: Purpose) async throws -> Session {
        let giveUpAt = ContinuousClock.now + surroundings.lockPatience
        var pause = Duration.milliseconds(5)
        while true {
            let noDaemon: ControlProblem
            do throws(ControlProblem) {
                return try await openSocket()
            } catch {
                guard error.code == .noDaemon else { throw error }
                noDaemon = error
            }
            // A new database would know no kinds and no definitions; only the daemon makes one.
            guard access(database, F_OK) == 0 || errno == EACCES else {
                throw CommandFailure(
                    .unavailable,
                    "\(noDaemon.message) There is no database at \(database) either; name it with --database.")
            }
            do throws(StoreOpenError) {
                return try openDatabase(purpose, noDaemon: noDaemon)
            } catch {
                guard case .locked = error, ContinuousClock.now < giveUpAt else { throw failure(error, noDaemon) }
            }
            // Nobody tells when a lock is given back.
            try await Task.sleep(for: pause, clock: .continuous)
            pause = min(pause * 2, .milliseconds(200))
        }
    }

    private func openSocket() async throws(ControlProblem) -> Session {
        let control = SocketControl(path: socket)
        try await control.connect()
        return Session(
            control: control, place: .daemon(socket: socket),
            waitForDaemon: { () throws(ControlProblem) in try await control.waitForDaemon() }, close: {})
    }

    private func openDatabase(
        _ purpose: Purpose, noDaemon: ControlProblem
    ) throws(StoreOpenError) -> Session {
        let store: SQLiteJobStore
        var lock: DatabaseLock?
        switch purpose {
        case .reading: store = try SQLiteJobStore.openReadOnly(at: database, options: .brief)
        case .writing:
            let taken = try DatabaseLock.acquire(forDatabaseAt: database)
            lock = taken
            store = try SQLiteJobStore.open(taken, options: .brief)
        }
        return Session(
            control: StoreControl(
                store: store, database: store.path, version: Version.current, now: surroundings.now),
            place: .database(path: database),
            waitForDaemon: { () throws(ControlProblem) in throw noDaemon },
            close: { [lock] in
                await store.close()
                lock?.release()
            })
    }

    private func failure(_ error: StoreOpenError, _ noDaemon: ControlProblem) -> CommandFailure {
        switch error {
        case .locked(let path, let pid):
            let holder = pid.map { "process \($0)" } ?? "another process"
            return CommandFailure(
                .unavailable,
                "\(path) is in use by \(holder), but no daemon answers on \(socket). Name its socket with --socket.")
        case .readOnlyDirectory, .readOnlyFile, .unreadableFile: return CommandFailure(.permission, "\(error)")
        case .busy: return CommandFailure(.temporary, "\(error)")
        default: return CommandFailure(.inputOutput, "\(error)")
        }
    }
}
