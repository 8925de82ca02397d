import Jobs
import WorkerProtocol

/// The kinds of a worker.
public struct WorkerKinds: Sendable {
    /// The kinds.
    public var kinds: [any Kind]
    /// Findings about the settings that do not prevent the start, as sentences for people.
    public var warnings: [String]

    /// Creates a list of kinds. Default: no warnings.
    public init(_ kinds: [any Kind], warnings: [String] = []) {
        self.kinds = kinds
        self.warnings = warnings
    }
}

/// The settings that a worker refuses, with the reasons.
public struct RefusedSettings: Error {
    /// The refusals, at least one.
    public var refusals: [SettingRefusal]

    /// Creates an error.
    public init(_ refusals: [SettingRefusal]) { self.refusals = refusals }
}
