import Jobs
import OperationTypes

/// A job with everything known of it.
public struct JobDetail: Sendable, Hashable {
    public var job: JobRecord
    public var result: JobResult?
    public var attempts: [AttemptRecord]
    public var dependencies: [Neighbour]
    public var dependents: [Neighbour]
    public var progress: OperationProgress?

    public typealias Neighbour = Jobs.Neighbour

    public init(
        job: JobRecord, result: JobResult?, attempts: [AttemptRecord], dependencies: [Neighbour],
        dependents: [Neighbour], progress: OperationProgress?
    ) {
        self.job = job
        self.result = result
        self.attempts = attempts
        self.dependencies = dependencies
        self.dependents = dependents
        self.progress = progress
    }
}

public struct GraphDetail: Sendable, Hashable {
    public var graph: GraphRecord
    /// The jobs without their inputs.
    public var jobs: [JobRecord]
    public var edges: [DependencyRecord]

    public init(graph: GraphRecord, jobs: [JobRecord], edges: [DependencyRecord]) {
        self.graph = graph
        self.jobs = jobs
        self.edges = edges
    }
}

/// All reasons why a job is not running, the most direct first.
public struct WaitExplanation: Sendable, Hashable {
    public var job: JobID
    public var state: JobState
    public var reasons: [Reason]

    public enum Reason: Sendable, Hashable {
        case dependency(Neighbour)
        /// The number of further dependencies that are not listed.
        case moreDependencies(Int)
        case time(until: Timestamp)
        /// The last attempt failed; the next one is due at this time.
        case retry(until: Timestamp, afterCode: String)
        case queuePaused(queue: String)
        case queueLimit(queue: String, running: Int64, limit: Int)
        /// The daemon runs as many jobs as it may in all queues together, its `slots`.
        case slots(running: Int, limit: Int)
        /// The job waits for its turn: at most `ready` other ready jobs of the queue are before it.
        case turn(queue: String, ready: Int64)
        /// These jobs run apart from all others until then, since they were running in several crashes. Others, the job in
        /// question among them unless it is named here, wait meanwhile.
        case trial(of: [JobID], until: Timestamp)
        /// No daemon runs that could start it.
        case noDaemon
        case running(attempt: Int, since: Timestamp)
        /// The job is final. The failure explains every outcome except success.
        case final(Outcome, JobFailure?)
        /// The job was skipped because this dependency did not meet its condition, and why not.
        case unmet(Neighbour, JobFailure?)
    }

    public init(job: JobID, state: JobState, reasons: [Reason]) {
        self.job = job
        self.state = state
        self.reasons = reasons
    }
}

public enum WatchEvent: Sendable, Hashable {
    /// The present record of a job in the scope. It comes first for each job, and again when the job's state changes.
    case job(JobRecord)
    case progress(job: JobID, attempt: Int, OperationProgress)
    /// The consumer was too slow, and changes were left out; the present states follow.
    case missed
    /// Everything in scope is final. The last event.
    case final
}

public struct StatusReport: Sendable, Hashable {
    public enum State: String, Sendable, Hashable, CaseIterable {
        case starting, recovering, running, draining, stopped
        /// A process holds the database, but no daemon answers on the requested socket.
        case unreachable
    }

    public var state: State
    /// Nil when no daemon runs.
    public var pid: Int32?
    public var version: String
    public var database: String
    public var startedAt: Timestamp?
    public var counts: StateCounts
    public var queues: [QueueRecord]
    public var nextDueAt: Timestamp?
    /// The spool; nil when no daemon runs.
    public var spool: SpoolReport?
    /// Problems for the administrator, in words: refused definitions, a growing log, a full disk.
    public var problems: [String]

    public init(
        state: State, pid: Int32?, version: String, database: String, startedAt: Timestamp?, counts: StateCounts,
        queues: [QueueRecord], nextDueAt: Timestamp?, spool: SpoolReport? = nil, problems: [String]
    ) {
        self.state = state
        self.pid = pid
        self.version = version
        self.database = database
        self.startedAt = startedAt
        self.counts = counts
        self.queues = queues
        self.nextDueAt = nextDueAt
        self.spool = spool
        self.problems = problems
    }
}

/// The files that callers sent for jobs.
public struct SpoolReport: Sendable, Hashable {
    public var files: Int
    /// Also counts files that are being received.
    public var bytes: Int64
    /// The limit for all files together.
    public var maxBytes: Int64
    /// Files kept only so that jobs that failed, were cancelled or were skipped can be retried. They are removed when
    /// those jobs are pruned.
    public var keptFiles: Int
    public var keptBytes: Int64

    public init(files: Int, bytes: Int64, maxBytes: Int64, keptFiles: Int, keptBytes: Int64) {
        self.files = files
        self.bytes = bytes
        self.maxBytes = maxBytes
        self.keptFiles = keptFiles
        self.keptBytes = keptBytes
    }
}

/// One line of the difference between a document and the stored definitions.
public struct DefinitionLine: Sendable, Hashable {
    public enum Change: String, Sendable, Hashable, CaseIterable { case added, changed, unchanged, removed }

    public var change: Change
    /// `queue`, `definition`, `graph` or `schedule`.
    public var type: String
    public var name: String
    /// The changed fields, for `changed`, such as `timeout 30s → 1m`.
    public var fields: [String]
    /// A warning about a value that is accepted but probably a mistake.
    public var warning: String?

    public init(change: Change, type: String, name: String, fields: [String] = [], warning: String? = nil) {
        self.change = change
        self.type = type
        self.name = name
        self.fields = fields
        self.warning = warning
    }
}

/// The result of a prune, in numbers of jobs.
public struct PruneAnswer: Sendable, Hashable {
    public var deleted: Int
    /// Jobs with a wanted outcome in a graph with another outcome.
    public var keptByGraph: Int
    /// Wanted jobs on which remaining jobs depend.
    public var keptByDependents: Int

    public init(deleted: Int, keptByGraph: Int = 0, keptByDependents: Int = 0) {
        self.deleted = deleted
        self.keptByGraph = keptByGraph
        self.keptByDependents = keptByDependents
    }
}

/// The name of a file in the spool, for the input's `file` field.
public struct SpoolAnswer: Sendable, Hashable {
    public var file: String
    public init(file: String) { self.file = file }
}
