/// A job's number: positive, assigned in ascending order of acceptance, and never used twice in one database.
public struct JobID: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Wraps a number; it is not checked.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public var description: String { String(rawValue) }
    public static func < (a: JobID, b: JobID) -> Bool { a.rawValue < b.rawValue }
}

/// The number of a graph, that is, of jobs that were enqueued together.
public struct GraphID: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Wraps a number; it is not checked.
    public init(_ rawValue: Int64) { self.rawValue = rawValue }
    public var description: String { String(rawValue) }
    public static func < (a: GraphID, b: GraphID) -> Bool { a.rawValue < b.rawValue }
}

/// The right of one attempt to finish its job, identified by the job and the attempt's number.
public struct Lease: Hashable, Sendable {
    /// The job that the attempt runs.
    public let job: JobID
    /// The attempt's number. The first is 1; every claim takes the next number.
    public let attempt: Int

    /// Creates a lease. Only a claim by the store makes it valid.
    public init(job: JobID, attempt: Int) {
        self.job = job
        self.attempt = attempt
    }
}
