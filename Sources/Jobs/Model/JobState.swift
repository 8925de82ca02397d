/// Where a job stands. The raw values are part of the database's schema.
///
/// `blocked` → `scheduled` or `ready` → `running` → an outcome; a failed attempt that will be retried goes back to
/// `scheduled`, an interrupted or rescued one to `ready`.
public enum JobState: Int, Hashable, Sendable, CaseIterable {
    /// Waits for a dependency.
    case blocked = 0
    /// Waits for its time.
    case scheduled = 1
    /// Could run now.
    case ready = 2
    case running = 3
    case succeeded = 4
    case failed = 5
    case cancelled = 6
    case skipped = 7

    public var name: String { String(describing: self) }

    public init?(name: some StringProtocol) {
        guard let state = JobState.allCases.first(where: { $0.name == name }) else { return nil }
        self = state
    }

    public var outcome: Outcome? { Outcome(rawValue: rawValue) }
    public var isFinal: Bool { outcome != nil }
}

/// How a job ended, once and for all. The raw values are those of ``JobState``.
public enum Outcome: Int, Hashable, Sendable, CaseIterable, Codable {
    case succeeded = 4
    case failed = 5
    case cancelled = 6
    /// A dependency did not meet its condition; the job never started.
    case skipped = 7

    public var name: String { String(describing: self) }
    public var state: JobState { JobState(rawValue: rawValue)! }

    public init?(name: some StringProtocol) {
        guard let outcome = Outcome.allCases.first(where: { $0.name == name }) else { return nil }
        self = outcome
    }
}

/// How one attempt ended. The raw values are part of the database's schema.
public enum AttemptOutcome: Int, Hashable, Sendable, CaseIterable {
    case succeeded = 0
    case failed = 1
    case timedOut = 2
    case cancelled = 3
    /// The daemon stopped; the job went back without using up a try.
    case interrupted = 4
    /// The daemon died; found at the next start.
    case crashed = 5

    /// `succeeded`, `failed`, `timed_out`, `cancelled`, `interrupted`, `crashed`.
    public var name: String {
        switch self {
        case .timedOut: "timed_out"
        default: String(describing: self)
        }
    }
}

/// What a dependency must have come to before its dependent may start.
public enum DependencyCondition: Int, Hashable, Sendable, CaseIterable {
    case succeeded = 0
    /// Any outcome.
    case finished = 1

    public var name: String { String(describing: self) }

    public init?(name: some StringProtocol) {
        guard let condition = DependencyCondition.allCases.first(where: { $0.name == name }) else {
            return nil
        }
        self = condition
    }

    public func isMet(by outcome: Outcome) -> Bool { self == .finished || outcome == .succeeded }
}
