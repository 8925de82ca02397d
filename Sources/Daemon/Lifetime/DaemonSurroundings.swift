import Jobs
import Logging
import SQLiteStore
import Systemd

/// What a daemon is given by its process. The defaults suit a test: nobody is notified, no signal is handled, and the
/// socket of the configuration is bound.
public struct DaemonSurroundings: Sendable {
    public var notifier = Notifier(nil)
    /// Kinds besides the built-in ones; no two may have one name.
    public var kinds: [any Kind] = []
    /// How often the service manager wants to hear that the claim loop makes progress; nil when it does not watch.
    public var watchdogInterval: Duration?
    /// The control socket, where the service manager opened it; else the daemon binds its own.
    public var socket: PassedSocket?
    /// Where a reload reads from; nil when it reads definitions only.
    public var sources: ConfigurationSources?
    public var handlesSignals = false
    /// Runs what is there and ends, without a control socket: see `OnceService`.
    public var runsOnce = false
    /// Follows `log.level` on reload.
    public var logThreshold = LogThreshold(.info)
    public var logger = Logger(label: "halyardd")
    public var store = StoreOptions()
    /// How long a command that holds the database is waited for at the start.
    public var lockPatience: Duration = .seconds(30)
    /// How long the daemon's end may take beyond what the drain and running jobs were given.
    public var endPatience: Duration = .seconds(30)
    /// Called when something hangs for good, after the service manager was asked to end the process.
    public var onHang: @Sendable (DaemonFailure) -> Void = { _ in }
    /// Awaited by the claim loop before each turn; for tests that hold it up.
    public var beforeEachTurn: (@Sendable () async -> Void)?
    /// Called once the daemon is ready, with what ends it from outside.
    public var onReady: @Sendable (DaemonHandle) -> Void = { _ in }

    public init() {}
}

/// What can be asked of a running daemon from outside.
public struct DaemonHandle: Sendable {
    /// Claims nothing more, drains, and ends. Returns at once.
    public let stop: @Sendable () -> Void
    /// Interrupts what runs.
    public let hurry: @Sendable () -> Void
}
