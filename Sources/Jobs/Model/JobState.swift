/// An enumeration whose cases have names in output, filters and documents.
public protocol NamedCase: CaseIterable {
    /// The name, such as `ready`. Default: the case name.
    var name: String { get }
}

extension NamedCase {
    public var name: String { String(describing: self) }

    /// Finds the case with this exact name; nil if there is none.
    public init?(name: some StringProtocol) {
        guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }
}

/// The current state of a job. The raw values are part of the database's schema.
///
/// `blocked` → `scheduled` or `ready` → `running` → an outcome. A failed attempt that will be retried puts the job back
/// to `scheduled`, and an interrupted or rescued attempt puts it back to `ready`.
public enum JobState: Int, Hashable, Sendable, NamedCase {
    /// The job waits for a dependency.
    case blocked = 0
    /// The job waits until it is due.
    case scheduled = 1
    /// The job can run as soon as its queue has a free slot.
    case ready = 2
    /// An attempt of the job is running.
    case running = 3
    /// The job ended with an output.
    case succeeded = 4
    /// The job ended with a failure and is not retried.
    case failed = 5
    /// The job ended because its cancellation was requested.
    case cancelled = 6
    /// The job ended without running because a dependency did not meet its condition.
    case skipped = 7

    /// How the job ended; nil unless the state is final.
    public var outcome: Outcome? { Outcome(rawValue: rawValue) }
    /// Whether the job has ended, so that its state never changes again.
    public var isFinal: Bool { outcome != nil }
}

/// How a job ended; it never changes. The raw values equal those of ``JobState``.
public enum Outcome: Int, Hashable, Sendable, NamedCase, Codable {
    /// The job has an output.
    case succeeded = 4
    /// The job has a failure and is not retried.
    case failed = 5
    /// The job's cancellation was requested before it ended.
    case cancelled = 6
    /// A dependency did not meet its condition; the job never started.
    case skipped = 7

    /// The job state for this outcome.
    public var state: JobState { JobState(rawValue: rawValue)! }
}

/// How one attempt ended. The raw values are part of the database's schema.
public enum AttemptOutcome: Int, Hashable, Sendable, NamedCase {
    /// The operation returned an output, which was stored.
    case succeeded = 0
    /// The operation failed; the job may be retried.
    case failed = 1
    /// The attempt ran longer than its definition's timeout; the job may be retried.
    case timedOut = 2
    /// The job's cancellation was requested while the attempt ran.
    case cancelled = 3
    /// The daemon or the machine stopped during the attempt. The job went back to its queue without using up a try.
    case interrupted = 4
    /// The process that ran the attempt died.
    case crashed = 5

    /// The name in output: `succeeded`, `failed`, `timed_out`, `cancelled`, `interrupted` or `crashed`.
    public var name: String {
        switch self {
        case .timedOut: "timed_out"
        default: String(describing: self)
        }
    }
}

/// The condition that a dependency must meet before its dependent may start.
public enum DependencyCondition: Int, Hashable, Sendable, NamedCase {
    /// The dependency must have succeeded.
    case succeeded = 0
    /// The dependency must have ended, with any outcome.
    case finished = 1

    /// Whether a dependency that ended with this outcome meets the condition.
    public func isMet(by outcome: Outcome) -> Bool { self == .finished || outcome == .succeeded }
}
