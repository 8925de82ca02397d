import Jobs
import OperationTypes

/// A job with its result, attempts and neighbours.
public struct JobDetail: Sendable, Hashable {
    /// The job's own record.
    public var job: JobRecord
    /// The result; nil if the job is not final.
    public var result: JobResult?
    /// The ended attempts, the oldest first.
    public var attempts: [AttemptRecord]
    /// The crashes of the attempts; nil if there are none.
    public var crashes: CrashReport?
    /// The jobs that this job depends on, at most 1,000.
    public var dependencies: [Neighbour]
    /// The jobs that depend on this job, at most 1,000.
    public var dependents: [Neighbour]
    /// The last progress report of the running attempt; nil if there is none.
    public var progress: OperationProgress?
    /// The last checkpoint that an attempt saved; nil if there is none or the job is final.
    public var checkpoint: Checkpoint?
    /// The log of the last attempt that has one; nil if there is none.
    public var log: LogReport?
    /// The file that is the job's result; nil if there is none.
    public var file: FileReport?
    /// The name of the only daemon that can run the job, since it has a file that the job needs; nil if every daemon can.
    public var daemon: String?

    /// A job at the other end of an edge.
    public typealias Neighbour = Jobs.Neighbour

    /// Creates a detail from its parts.
    public init(
        job: JobRecord, result: JobResult?, attempts: [AttemptRecord], crashes: CrashReport? = nil,
        dependencies: [Neighbour], dependents: [Neighbour], progress: OperationProgress?, checkpoint: Checkpoint? = nil,
        log: LogReport? = nil, file: FileReport? = nil, daemon: String? = nil
    ) {
        self.job = job
        self.result = result
        self.attempts = attempts
        self.crashes = crashes
        self.dependencies = dependencies
        self.dependents = dependents
        self.progress = progress
        self.checkpoint = checkpoint
        self.log = log
        self.file = file
        self.daemon = daemon
    }
}

/// The crashes of a job's attempts.
public struct CrashReport: Sendable, Hashable {
    /// The number of crashes that count against the job, because no other job ran in the process. Ten unexplained ends
    /// of a process count as one crash.
    public var counted: Int
    /// The number of counted crashes that the job may cause; the next one fails it. Nil if no daemon answered.
    public var limit: Int?

    /// Creates a report.
    public init(counted: Int, limit: Int? = nil) {
        self.counted = counted
        self.limit = limit
    }
}

/// A graph with its jobs and edges.
public struct GraphDetail: Sendable, Hashable {
    /// The graph's own record.
    public var graph: GraphRecord
    /// The jobs, without their inputs.
    public var jobs: [JobRecord]
    /// The edges whose dependent is in the graph.
    public var edges: [DependencyRecord]

    /// Creates a detail from its parts.
    public init(graph: GraphRecord, jobs: [JobRecord], edges: [DependencyRecord]) {
        self.graph = graph
        self.jobs = jobs
        self.edges = edges
    }
}

/// All reasons why a job is not running, the most direct first.
public struct WaitExplanation: Sendable, Hashable {
    /// The job.
    public var job: JobID
    /// The state of the job.
    public var state: JobState
    /// The reasons, the most direct first.
    public var reasons: [Reason]

    /// One reason why a job is not running.
    public enum Reason: Sendable, Hashable {
        /// The job waits for this dependency.
        case dependency(Neighbour)
        /// The number of further dependencies that are not listed.
        case moreDependencies(Int)
        /// The job is scheduled for this time.
        case time(dueAt: Timestamp)
        /// The last attempt failed; the next one is due at this time.
        case retry(dueAt: Timestamp, afterCode: String)
        /// The job's queue is paused.
        case queuePaused(queue: String)
        /// The job's queue already runs as many jobs as its limit allows.
        case queueLimit(queue: String, running: Int64, limit: Int)
        /// Only these daemons could start the job, and each of them already runs as many jobs of the queue as one
        /// daemon may.
        case queueLimitPerDaemon(queue: String, limit: Int, daemons: [String])
        /// The daemon already runs as many jobs as it may in all queues together.
        case slots(running: Int, limit: Int)
        /// The job waits for its turn: at most `ready` other ready jobs of the queue are before it.
        case turn(queue: String, ready: Int64)
        /// The listed jobs are on trial until this time: they run apart from all others, since they were running
        /// during several crashes. All other ready jobs wait, including this job if it is not listed.
        case trial(of: [JobID], endsAt: Timestamp)
        /// Only this daemon can run the job, since it has a file that the job needs. `endedAt` is nil while the daemon
        /// runs, and `drainedAt` if it is not drained.
        case home(daemon: String, endedAt: Timestamp?, drainedAt: Timestamp?)
        /// No running daemon serves the job's queue, or its kind; if both are given, no running daemon serves both. If
        /// `daemon` is given, only that daemon could run the job, since it has a file that the job needs.
        case unserved(queue: String?, kind: String?, daemon: String?)
        /// All running daemons that serve the job are drained, so none of them starts it.
        case drained(daemons: [String])
        /// The worker that runs the job's kind cannot run now, for this reason.
        case worker(problem: String)
        /// The worker that runs the job's kind already runs as many attempts as it may.
        case workerLimit(worker: String, running: Int, limit: Int)
        /// The job was running when a process of this worker crashed, so it runs apart from other jobs, and waits until a
        /// process is free for that.
        case suspect(worker: String)
        /// The daemon cannot write to the database now, so it starts no job.
        case store(problem: String)
        /// No daemon is running that could start the job.
        case noDaemon
        /// The job is not waiting: this attempt runs.
        case running(attempt: Int, startedAt: Timestamp)
        /// The job is final. The error explains every outcome except success.
        case final(Outcome, JobFailure?)
        /// The job was skipped because this dependency did not meet its condition. The error of the
        /// dependency says why.
        case unmet(Neighbour, JobFailure?)
    }

    /// Creates an explanation.
    public init(job: JobID, state: JobState, reasons: [Reason]) {
        self.job = job
        self.state = state
        self.reasons = reasons
    }
}

/// One event of a watched job, graph or database.
public enum WatchEvent: Sendable, Hashable {
    /// The current record of a job in scope. It comes first for each job, and again whenever the job's state
    /// changes.
    case job(JobRecord)
    /// The running attempt has reported progress.
    case progress(job: JobID, attempt: Int, OperationProgress)
    /// The reader was too slow, and some changes were dropped. The current states of all jobs in scope follow.
    case missed
    /// Everything in scope is final. This is the last event.
    case final
}

/// The state of the daemon and its database.
public struct StatusReport: Sendable, Hashable {
    /// The states of a daemon.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The daemon's state; `stopped` if no daemon is running. If a caller has asked a database that several daemons
        /// share, `running` means that at least one of them runs.
        case starting, recovering, running, draining, stopped
        /// A process holds the database, but no daemon answers on the requested socket.
        case unreachable
    }

    /// The daemon's current state.
    public var state: State
    /// The daemon's process; nil if no daemon is running.
    public var pid: Int32?
    /// The version of the program that answers.
    public var version: String
    /// The path of the database.
    public var database: String
    /// When the daemon started; nil if no daemon is running.
    public var startedAt: Timestamp?
    /// The number of jobs in each state.
    public var counts: StateCounts
    /// All queues, with their counts.
    public var queues: [QueueRecord]
    /// When the next job or schedule is due; nil if none is.
    public var nextDueAt: Timestamp?
    /// The spool; nil if no daemon is running.
    public var spool: SpoolReport?
    /// Problems for the administrator, one sentence each, such as refused definitions, a growing write-ahead
    /// log or a full disk.
    public var problems: [String]

    /// Creates a report.
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
    /// The number of files.
    public var files: Int
    /// The size of all files in bytes, including files that are being received.
    public var bytes: Int64
    /// The limit for the size of all files, in bytes.
    public var maxBytes: Int64
    /// The number of files that are kept only so that jobs that failed, were cancelled or were skipped can be
    /// retried. Pruning those jobs removes the files.
    public var keptFiles: Int
    /// The size of those files, in bytes.
    public var keptBytes: Int64

    /// Creates a report.
    public init(files: Int, bytes: Int64, maxBytes: Int64, keptFiles: Int, keptBytes: Int64) {
        self.files = files
        self.bytes = bytes
        self.maxBytes = maxBytes
        self.keptFiles = keptFiles
        self.keptBytes = keptBytes
    }
}

/// The difference between one entry of a document and the stored definitions.
public struct DefinitionLine: Sendable, Hashable {
    /// How a document changes an entry.
    public enum Change: String, Sendable, Hashable, CaseIterable { case added, changed, unchanged, removed }

    /// How the document changes the entry.
    public var change: Change
    /// `queue`, `definition`, `graph` or `schedule`.
    public var type: String
    /// The entry's name.
    public var name: String
    /// The changed fields with their old and new values, such as `timeout 30s → 1m`, if the entry was changed.
    public var fields: [String]
    /// A warning about a value that is accepted but probably a mistake.
    public var warning: String?

    /// Creates a line.
    public init(change: Change, type: String, name: String, fields: [String] = [], warning: String? = nil) {
        self.change = change
        self.type = type
        self.name = name
        self.fields = fields
        self.warning = warning
    }
}

/// The numbers of jobs that a prune deleted and kept.
public struct PruneAnswer: Sendable, Hashable {
    /// The number of deleted jobs.
    public var deleted: Int
    /// The number of jobs that were kept because their graph has another outcome.
    public var keptByGraph: Int
    /// The number of jobs that were kept because remaining jobs depend on them.
    public var keptByDependents: Int

    /// Creates an answer.
    public init(deleted: Int, keptByGraph: Int = 0, keptByDependents: Int = 0) {
        self.deleted = deleted
        self.keptByGraph = keptByGraph
        self.keptByDependents = keptByDependents
    }
}

/// The name of a file in the spool, for the input's `file` field.
public struct SpoolAnswer: Sendable, Hashable {
    /// The name, `spool:…`.
    public var file: String
    /// Creates an answer.
    public init(file: String) { self.file = file }
}
