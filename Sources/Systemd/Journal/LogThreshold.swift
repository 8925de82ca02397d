import Logging
import Synchronization

/// The lowest level that is logged. It may change while loggers exist.
public final class LogThreshold: Sendable {
    private let value: Mutex<Logger.Level>

    /// Creates a threshold with an initial level.
    public init(_ level: Logger.Level) { value = Mutex(level) }

    /// The current level. Any thread may read and change it.
    public var level: Logger.Level {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
