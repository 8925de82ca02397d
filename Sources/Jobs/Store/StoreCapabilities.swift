/// The properties in which stores differ. All other promises are the same for every store.
public struct StoreCapabilities: Sendable, Hashable {
    /// The number of holders that may use one database at a time.
    public enum Holders: Sendable, Hashable {
        /// One. A lock proves that every earlier holder has ended, so a life lasts until its goodbye.
        case one
        /// Many, each with a life that it renews.
        case many
    }

    /// How many holders may use one database at a time.
    public var holders: Holders

    /// Creates a declaration.
    public init(holders: Holders) { self.holders = holders }
}

/// The version of everything that ``JobStore/definitions()`` returns. It changes with each change to definitions, graph
/// definitions, schedules, queues or kinds.
public struct SettingsVersion: RawRepresentable, Sendable, Hashable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Wraps a number; it is not checked.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The outcome of a change that was checked before.
public enum ChangeOutcome<Value: Sendable & Hashable>: Sendable, Hashable {
    /// The change is stored.
    case changed(Value)
    /// The settings have changed since they were read, so that the check no longer holds. Nothing was written; read the
    /// settings and check again.
    case outdated
}
