/// A request to enqueue a definition or graph definition by name, or a graph whose jobs the caller lists.
public struct Submission: Sendable, Hashable {
    /// The work to enqueue.
    public enum Work: Sendable, Hashable {
        /// A definition or a graph definition, by name. For a graph definition, ``Submission/input`` contains its
        /// parameters, and fields of its nodes as `node.field`.
        case definition(String)
        /// Jobs listed by the caller, with edges between them. They form a graph if there are several or if a name is
        /// given.
        case jobs([JobRequest], name: String?)
    }

    /// The definition, graph definition or jobs to enqueue.
    public var work: Work
    /// The explicit input fields, a JSON object. Must be nil with ``Work/jobs(_:name:)``, where each job has its own
    /// input.
    public var input: JSONText?
    /// The name of the queue for all jobs; nil to use the queues of their definitions. With ``Work/jobs(_:name:)``, a
    /// job's own queue takes precedence.
    public var queue: String?
    /// The priority for all jobs, with the same precedence as ``queue``.
    public var priority: Priority?
    /// The existing jobs to wait for. In a graph, jobs that depend on no other job of the graph wait for them directly,
    /// and all other jobs indirectly.
    public var after: [ExistingDependency]
    /// The earliest start of the jobs that depend on no other job of the submission. Default: now.
    public var start: Start
    /// The idempotency key, 1 to 255 bytes; nil for none. Repeating a request with the same key is harmless.
    public var key: String?

    /// The earliest time at which a job may start.
    public enum Start: Sendable, Hashable {
        /// As soon as possible.
        case now
        /// Not before this moment of the wall clock.
        case at(Timestamp)
        /// Not before this much real time has passed since the job was accepted, even if the wall clock is set in the
        /// meantime.
        case after(Duration)

        /// Whether the job has to wait, given the wall clock's current time.
        public func isLater(than now: Timestamp) -> Bool {
            switch self {
            case .now: false
            case .at(let moment): moment > now
            case .after(let wait): wait > .zero
            }
        }
    }

    /// A dependency on a job that was accepted earlier.
    public struct ExistingDependency: Sendable, Hashable {
        /// The job to wait for.
        public var job: JobID
        /// The condition that it must meet.
        public var condition: DependencyCondition
        /// Creates a dependency. Default: the job must have succeeded.
        public init(job: JobID, condition: DependencyCondition = .succeeded) {
            self.job = job
            self.condition = condition
        }
    }

    /// Creates a submission; ``Catalog/plan(_:kindsOfJobs:)`` checks it.
    public init(
        _ work: Work, input: JSONText? = nil, queue: String? = nil, priority: Priority? = nil,
        after: [ExistingDependency] = [], start: Start = .now, key: String? = nil
    ) {
        self.work = work
        self.input = input
        self.queue = queue
        self.priority = priority
        self.after = after
        self.start = start
        self.key = key
    }
}
