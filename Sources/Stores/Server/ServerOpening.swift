import Glibc
import Jobs
import PostgresStore
import SQLiteStore

/// The way to a database of a PostgreSQL server.
struct ServerOpening: StoreOpening {
    private let url: String
    private let settings: ServerSettings
    private let options: PostgresStoreOptions
    private let clock: (any StoreClock)?

    init(url: String, for use: StoreFactory.Use, _ settings: ServerSettings, clock: (any StoreClock)?) {
        self.url = url
        self.settings = settings
        self.clock = clock
        var options = PostgresStoreOptions()
        options.isBrief = use == .brief
        options.lifeLength = settings.lease
        options.passwordFile = settings.passwordFile
        options.boot = settings.boot
        self.options = options
    }

    var address: DatabaseAddress { .postgresql(url: url) }

    var isNew: Bool {
        do throws(PostgresOpenError) {
            try PostgresJobStore.check(url, options: options)
            return false
        } catch {
            // Opening the database reports any other problem.
            return if case .missing = error { true } else { false }
        }
    }

    func check() throws(StoreOpenFailure) -> String? {
        try mapping { () throws(PostgresOpenError) in try PostgresJobStore.check(url, options: options) }
        return nil
    }

    /// A daemon reserves its home: two processes must not run jobs under one identity. Commands reserve nothing.
    func reserve(
        as role: StoreUser.Role, waiting patience: Duration, onWait: @escaping @Sendable (StoreUser) -> Void
    ) async throws(StoreOpenFailure) -> any ReservedStore {
        if role == .command { return reserved(nil) }
        let home = settings.home
        guard mkdir(home, 0o750) == 0 || errno == EEXIST else {
            let code = errno
            throw StoreOpenFailure(
                code == ENOSPC || code == EDQUOT ? .passing(errno: code) : .wrong,
                "home: the folder \(home) cannot be created (\(String(cString: strerror(code)))). Use a folder that the daemon's user can write to."
            )
        }
        do throws(StoreOpenError) {
            let lock = try await DatabaseLock.acquire(
                forDatabaseAt: home + "/daemon", as: role == .once ? .once : .daemon, waiting: patience
            ) { onWait(StoreUser(pid: $0.pid, role: nil, isLivingDaemon: $0.isLivingDaemon)) }
            return reserved(lock)
        } catch {
            guard case .locked(_, let pid) = error else { throw StoreOpenFailure(error) }
            let process = pid.map { "process \($0)" } ?? "another process"
            throw StoreOpenFailure(
                .reserved(pid: pid),
                "\(home) is the home of \(process), which is running. Give each daemon its own home (the key home).")
        }
    }

    private func reserved(_ lock: DatabaseLock?) -> ReservedServer {
        ReservedServer(lock: lock, home: settings.home, url: url, options: options, clock: clock)
    }

    func openForReading() async throws(StoreOpenFailure) -> OpenedStore { try await reserved(nil).open() }

    /// Many processes may use the database.
    var user: StoreUser? { nil }
}

private struct ReservedServer: ReservedStore {
    /// Nil for a command.
    let lock: DatabaseLock?
    let home: String
    let url: String
    let options: PostgresStoreOptions
    let clock: (any StoreClock)?

    var lastEnd: LastEnd { lock?.lastEnd ?? .unexplained }

    func marksCrashes() { lock?.marksCrashes() }

    func narrowModes() throws(StoreOpenFailure) -> [String] { [] }

    func open() async throws(StoreOpenFailure) -> OpenedStore {
        let identity = lock == nil ? nil : try DaemonIdentity.ofDaemon(in: home)
        var options = options
        // The next process needs the mark as well, until the jobs are rescued.
        options.onRescue = { [lock] in lock?.forgetLastEnd() }
        let store = try mapping { () throws(PostgresOpenError) in
            try PostgresJobStore.open(url, options: options, clock: clock)
        }
        if identity != nil {
            do throws(StoreOpenFailure) {
                try HomeDatabase.bind(home, to: store.identity)
            } catch {
                await store.close()
                throw error
            }
        }
        return OpenedStore(
            store: store, name: DatabaseAddress.postgresql(url: url).description, home: home + "/daemon",
            identity: identity,
            close: {
                // The ends of the last attempts may not be stored. Then the next process finds these jobs running.
                if store.lastWriteFailed { lock?.noteStoreStopped() }
                await store.close()
            })
    }

    func release() { lock?.release() }
}

private func mapping<Value>(_ body: () throws(PostgresOpenError) -> Value) throws(StoreOpenFailure) -> Value {
    do throws(PostgresOpenError) {
        return try body()
    } catch {
        throw StoreOpenFailure(error)
    }
}

extension StoreOpenFailure {
    init(_ error: PostgresOpenError) {
        let cause: Cause =
            switch error {
            case .missing: .missing
            case .unreachable: .passing(errno: EHOSTUNREACH)
            // The server's administrator may correct it while the daemon tries again.
            case .refused: .passing(errno: EACCES)
            case .noThread(let code): .passing(errno: code)
            case .failed: .inputOutput(errno: EIO)
            case .beingMoved: .busy
            case .foreignSchema: .otherProgram
            case .missingLibrary, .serverTooOld, .pooled, .notDurable, .schemaTooNew, .schemaTooOld: .unusable
            case .moved, .unfinishedMove: .moved
            }
        self.init(cause, error.description)
    }
}
