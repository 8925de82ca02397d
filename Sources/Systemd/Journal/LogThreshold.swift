import Logging
import Synchronization

/// The level from which messages are written; may be changed while loggers live.
public final class LogThreshold: Sendable {
    private let value: Mutex<Logger.Level>

    public init(_ level: Logger.Level) { value = Mutex(level) }

    public var level: Logger.Level {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
