import Jobs
import Moving
import PostgreSQL
import PostgresStore
import SQLite
import SQLiteStore
import StoreParts

/// Moves all jobs, with their history, from one database to another: between an SQLite file and a PostgreSQL server.
///
/// It works on a dedicated thread. Cancelling the caller does not stop it.
public struct DatabaseMove: Sendable {
    private let file: String
    private let url: String
    private let isToServer: Bool
    private let options: Options

    /// The settings of a move in addition to its databases.
    public struct Options: Sendable, Hashable {
        /// The folder in which the daemon of the server's database keeps its own files; nil for the folder `postgresql` next
        /// to the file.
        public var home: String?
        /// The path of a file with the password; nil for none.
        public var passwordFile: String?
        /// Whether all daemons can read the spool (the key `spool.shared`).
        public var sharesSpool = false
        /// Whether to move jobs although daemons of other homes have their files.
        public var leavesFiles = false

        /// Creates the default options.
        public init() {}
    }

    /// Creates a move; opens nothing.
    ///
    /// - Throws: ``DatabaseMoveFailure`` unless one address is a file and the other is a server.
    public init(
        from source: DatabaseAddress, to target: DatabaseAddress, options: Options
    ) throws(DatabaseMoveFailure) {
        switch (source, target) {
        case (.file(let path), .postgresql(let url)): (file, self.url, isToServer) = (path, url, true)
        case (.postgresql(let url), .file(let path)): (file, self.url, isToServer) = (path, url, false)
        case (.file, .file):
            throw DatabaseMoveFailure(
                .wrong,
                "Both databases are files. A move is from an SQLite file to a PostgreSQL server, or back. To move a file, copy it while no daemon runs."
            )
        case (.postgresql, .postgresql):
            throw DatabaseMoveFailure(
                .wrong,
                "Both databases are on servers. A move is from an SQLite file to a PostgreSQL server, or back. Between servers, use pg_dump."
            )
        }
        self.options = options
    }

    /// The value of the key `database` for a daemon that uses the target: an absolute path, or the URL without its password.
    public var configuredTarget: String {
        isToServer ? DatabaseAddress.postgresql(url: url).withoutPassword : DaemonHome.absolute(file)
    }

    /// The home of the daemon that uses the server's database.
    public var home: String { options.home.map(DaemonHome.absolute) ?? DaemonHome.usual(nextTo: file) }

    // MARK: Moving

    /// Carries out the move, or completes an earlier one.
    ///
    /// - Parameter progress: Called after each batch of rows.
    /// - Throws: ``DatabaseMoveFailure``. The source is unchanged, unless the description says that neither database can be
    ///   used until the command is repeated. Retrying is safe.
    public func run(
        progress: @escaping @Sendable (MoveProgress) -> Void
    ) async throws(DatabaseMoveFailure) -> MoveReport {
        try await onThread {
            // Without this check, a missing source would still get a lock file.
            if isToServer { try SQLiteMoveSource.requireFile(at: file) }
            let lock = try DatabaseLock.acquire(forDatabaseAt: file)
            defer { lock.release() }
            let home = try DaemonHome(home, nextTo: file)
            try home.reserve()
            defer { home.release() }
            if isToServer {
                let source = try SQLiteMoveSource(lock)
                let target = try PostgresMoveTarget(url, options: serverOptions, sharesSpool: options.sharesSpool)
                try home.refuseUnlessFor(target.key)
                target.home = try home.identity()
                return try move(from: source, to: target, progress) {
                    try home.bind(to: target.key)
                    try home.takeFiles(from: home.folder)
                }
            }
            let source = try PostgresMoveSource(url, options: serverOptions)
            try refuseOtherHomes(of: source, home)
            return try move(from: source, to: try SQLiteMoveTarget(lock), progress) {
                try home.giveFiles(to: home.folder)
            }
        }
    }

    /// Reports what would be moved, and changes nothing. If the source is a file, a daemon may use it meanwhile.
    ///
    /// - Throws: ``DatabaseMoveFailure``, if the move would be refused.
    public func preview() async throws(DatabaseMoveFailure) -> MoveReport {
        try await onThread {
            if isToServer {
                let found = try SQLiteMoveSource.preview(ofDatabaseAt: file)
                let target = try PostgresMoveTarget(url, options: serverOptions, creates: false)
                try Move.check(from: file, key: found.key, mark: nil, to: target.place, with: target.content)
                return MoveReport(found.digests, found.counts)
            }
            let source = try PostgresMoveSource(url, options: serverOptions)
            try Move.check(
                from: source.place, key: source.key, mark: source.mark, to: file, with: try contentOfFile())
            try refuseOtherHomes(of: source, try DaemonHome(home, nextTo: file))
            let found = try source.preview()
            return MoveReport(found.digests, found.counts)
        }
    }

    /// The contents of the file; nothing if it does not exist. Locking a file would create another one next to it.
    private func contentOfFile() throws -> MoveContent {
        do throws(StoreOpenError) {
            try SQLiteMoveSource.requireFile(at: file)
        } catch {
            guard case .missingFile = error else { throw error }
            return .nothing
        }
        let lock = try DatabaseLock.acquire(forDatabaseAt: file)
        defer { lock.release() }
        return try SQLiteMoveTarget(lock).content
    }

    private func move(
        from source: any MoveSource, to target: any MoveTarget,
        _ progress: @escaping (MoveProgress) -> Void, prepare: () throws -> Void
    ) throws -> MoveReport {
        let move = Move(from: source, to: target) { progress(MoveProgress($0)) }
        return MoveReport(try move.run(id: .random, at: SystemStoreClock().wall, prepare: prepare))
    }

    private func refuseOtherHomes(of source: PostgresMoveSource, _ home: DaemonHome) throws {
        if options.leavesFiles { return }
        let others = try source.jobsOfOtherHomes(than: try home.knownIdentity())
        if others.isEmpty { return }
        throw MoveFailure(
            .refused,
            "Some jobs have files on daemons other than the one with the home \(home.path), and a database in one file cannot refer to them. Name the right home (--home), or move without those files (--without-files).",
            details: others.map { "\($0.daemon): files of \($0.jobs) job\($0.jobs == 1 ? "" : "s")" })
    }

    private var serverOptions: PostgresStoreOptions {
        var options = PostgresStoreOptions()
        options.passwordFile = self.options.passwordFile
        return options
    }
}

extension String {
    /// The identifier of a new move.
    fileprivate static var random: String {
        var random = SystemRandomNumberGenerator()
        return String(random.next() as UInt64, radix: 16)
    }
}

// MARK: Failures

/// The reason why a move failed. If its copy was not complete yet, the source is unchanged.
public struct DatabaseMoveFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The causes that callers treat differently.
    public enum Cause: Sendable, Hashable {
        /// The call names the wrong databases.
        case wrong
        /// The databases or the homes do not fit together.
        case refused
        /// A database does not exist.
        case missing
        /// Something uses a database, or there is no room; a later try may succeed.
        case passing
        /// The server does not answer.
        case unreachable
        /// This user may not use the database.
        case permission
        /// Reading or writing failed.
        case inputOutput
        /// The copy differs from the source.
        case different
    }

    /// The cause.
    public var cause: Cause
    /// The problem and its remedy.
    public var description: String
    /// More lines about the problem.
    public var details: [String]

    /// Creates a failure.
    public init(_ cause: Cause, _ description: String, details: [String] = []) {
        self.cause = cause
        self.description = description
        self.details = details
    }

    private init(_ failure: StoreOpenFailure, isServer: Bool) {
        let cause: Cause =
            switch failure.cause {
            case .reserved, .busy: .passing
            case .passing: isServer ? .unreachable : .passing
            case .missing: .missing
            case .unreadable, .readOnly: .permission
            case .moved, .otherProgram, .unusable, .wrong: .refused
            case .inputOutput: .inputOutput
            }
        self.init(cause, failure.description)
    }

    /// - Parameter rest: The state of the source and the remedy, after the cause.
    fileprivate init(
        _ error: any Error, _ rest: String = "The source is unchanged; correct the cause, then repeat the command."
    ) {
        switch error {
        case let unended as UnendedMove:
            let rest = "Repeat the command when the cause is corrected; until then neither database can be used."
            self.init(unended.cause, rest)
            if !description.hasSuffix(rest) { description += " " + rest }
        case let failure as DatabaseMoveFailure: self = failure
        case let failure as MoveFailure:
            let cause: Cause =
                switch failure.cause {
                case .refused: .refused
                case .busy: .passing
                case .different: .different
                }
            self.init(cause, failure.description, details: failure.details)
        case let failure as StoreOpenFailure: self.init(failure, isServer: false)
        case let error as StoreOpenError: self.init(StoreOpenFailure(error), isServer: false)
        case let error as PostgresOpenError:
            switch error {
            case .beingMoved: self.init(.passing, error.description)
            case .refused: self.init(.permission, error.description)
            default: self.init(StoreOpenFailure(error), isServer: true)
            }
        case let error as PostgresError where error.cause == .lost || error.sqlClass == "57":
            self.init(.unreachable, "The connection to the database server was lost (\(error)). \(rest)")
        case let error as PostgresError:
            let cause: Cause =
                switch error.sqlState {
                case SQLState.diskFull: .passing
                case SQLState.insufficientPrivilege: .permission
                default: error.sqlClass == "28" ? .permission : .inputOutput
                }
            self.init(cause, "The database server refused a statement (\(error)). \(rest)")
        case let error as SQLiteError:
            self.init(
                error.primary == .full || error.primary == .busy ? .passing : .inputOutput,
                "The file could not be read or written (\(error)). \(rest)")
        default: self.init(.inputOutput, "The jobs could not be moved (\(error)). \(rest)")
        }
    }
}

private func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws(DatabaseMoveFailure) -> Value {
    let result: Result<Value, DatabaseMoveFailure> = await withCheckedContinuation { continuation in
        do throws(ThreadError) {
            try startThread(named: "halyard-move") {
                do {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(DatabaseMoveFailure(error)))
                }
            }
        } catch {
            continuation.resume(
                returning: .failure(
                    DatabaseMoveFailure(.passing, "A thread could not be started (errno \(error.code)). Try again.")))
        }
    }
    return try result.get()
}
