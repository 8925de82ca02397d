import Jobs

/// The way to a database that is not open yet. ``StoreFactory`` returns one for each address.
public protocol StoreOpening: Sendable {
    /// Where the database is.
    var address: DatabaseAddress { get }
    /// Whether there is no database yet, so that opening it for a daemon creates one.
    var isNew: Bool { get }

    /// Checks the database as a start of the daemon does, but changes nothing.
    ///
    /// - Returns: The reason why its content could not be checked, which does not prevent a start; nil if it is good.
    /// - Throws: ``StoreOpenFailure``, also ``StoreOpenFailure/Cause/missing`` if a start would create the database.
    func check() throws(StoreOpenFailure) -> String?

    /// Makes sure that no other process of this machine runs jobs as the same daemon, or writes to the same file.
    ///
    /// - Parameters:
    ///   - patience: How long to wait for a command that uses the database.
    ///   - onWait: Called once if there is something to wait for.
    /// - Throws: ``StoreOpenFailure``. Trying again later is safe.
    func reserve(
        as role: StoreUser.Role, waiting patience: Duration, onWait: @escaping @Sendable (StoreUser) -> Void
    ) async throws(StoreOpenFailure) -> any ReservedStore

    /// Opens an existing database for reading, even while a daemon uses it.
    ///
    /// - Throws: ``StoreOpenFailure``. Trying again later is safe.
    func openForReading() async throws(StoreOpenFailure) -> OpenedStore

    /// The process that has reserved the database; nil if none has, or if this user may not know.
    var user: StoreUser? { get }
}

/// A database that only this process may use as a daemon, until it is released.
public protocol ReservedStore: Sendable {
    /// How the previous daemon that had the reservation ended.
    var lastEnd: LastEnd { get }

    /// Marks crashes of this process for the next one (``lastEnd``). Installs handlers for the fatal signals.
    func marksCrashes()

    /// Removes the permissions of other users from existing files of the database.
    ///
    /// - Returns: A sentence for each change.
    /// - Throws: ``StoreOpenFailure`` if the file belongs to another program and must stay as it is.
    func narrowModes() throws(StoreOpenFailure) -> [String]

    /// Opens the database, and creates or migrates it if necessary.
    ///
    /// - Throws: ``StoreOpenFailure``; the reservation stays.
    func open() async throws(StoreOpenFailure) -> OpenedStore

    /// Ends the reservation. Close the store first.
    func release()
}

/// An open store, with the requests that only the process that opened it makes.
public struct OpenedStore: Sendable {
    /// The store.
    public let store: any JobStore
    /// The database as people know it, such as the file's path with symbolic links resolved.
    public let name: String
    /// The path next to which this process keeps its own files.
    public let home: String
    /// Identifies the daemon that uses the store across its starts; nil if ``home`` does.
    public let identity: DaemonIdentity?
    /// Findings that do not prevent the use of the store, one sentence each.
    public let warnings: [String]
    /// The current problems for the status line.
    public let problems: @Sendable () -> [String]
    /// Frees cached data, and returns how many bytes.
    public let releaseMemory: @Sendable () async -> Int
    /// Carries out the requests made so far, and closes the store.
    public let close: @Sendable () async -> Void

    /// Creates a value. This initializer is for implementations of ``StoreOpening``.
    public init(
        store: any JobStore, name: String, home: String, identity: DaemonIdentity? = nil, warnings: [String] = [],
        problems: @escaping @Sendable () -> [String] = { [] },
        releaseMemory: @escaping @Sendable () async -> Int = { 0 }, close: @escaping @Sendable () async -> Void
    ) {
        self.store = store
        self.name = name
        self.home = home
        self.identity = identity
        self.warnings = warnings
        self.problems = problems
        self.releaseMemory = releaseMemory
        self.close = close
    }
}

/// A process that has reserved a database.
public struct StoreUser: Sendable, Hashable {
    /// The kind of process.
    public enum Role: String, Sendable, Hashable {
        /// A daemon, which uses the database as long as it runs.
        case daemon
        /// A daemon that exits by itself and has no socket.
        case once
        /// A command, which uses the database for one operation.
        case command
    }

    /// The process; nil if it is unknown.
    public var pid: Int32?
    /// The kind of process; nil if it is unknown.
    public var role: Role?
    /// Whether it is a daemon that still runs.
    public var isLivingDaemon: Bool

    /// Creates a value.
    public init(pid: Int32?, role: Role?, isLivingDaemon: Bool) {
        self.pid = pid
        self.role = role
        self.isLivingDaemon = isLivingDaemon
    }
}

/// The reason why a database could not be opened. Nothing was changed, and nothing was created in its place (P11).
public struct StoreOpenFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The causes that callers treat differently.
    public enum Cause: Sendable, Hashable {
        /// Another process has reserved the database; `pid` is nil if it is unknown.
        case reserved(pid: Int32?)
        /// The database is in use for a moment.
        case busy
        /// There is no database, or no folder for it.
        case missing
        /// This user may not read the database.
        case unreadable
        /// This user may not write the database.
        case readOnly
        /// The jobs were moved to another database, or a move to this database has not ended.
        case moved
        /// The database belongs to another program.
        case otherProgram
        /// This release of Halyard cannot use the database, its server or its library.
        case unusable
        /// A later try may succeed without a correction; the code is an `errno`.
        case passing(errno: Int32)
        /// Reading or writing failed; the code is an `errno`.
        case inputOutput(errno: Int32)
        /// The address, the configuration or the database must be corrected first.
        case wrong
    }

    /// The cause.
    public var cause: Cause
    /// The problem and its remedy.
    public var description: String

    /// Creates a failure.
    public init(_ cause: Cause, _ description: String) {
        self.cause = cause
        self.description = description
    }

    /// Whether a later try may succeed without a correction.
    public var mayPass: Bool {
        switch cause {
        case .reserved, .busy, .passing: true
        case .missing, .unreadable, .readOnly, .moved, .otherProgram, .unusable, .inputOutput, .wrong: false
        }
    }
}
