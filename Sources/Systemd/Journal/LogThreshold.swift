import Logging
import Synchronization

/// The lowest level that is logged. It may change while loggers exist.
public final class LogThreshold: Sendable {
    private let value: Mutex<Logger.Level>

    public init(_ level: Logger.Level) { value = Mutex(level) }

    public var level: Logger.Level {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
