/// One enqueue: a definition or a graph definition by name, or an own graph of jobs.
public struct Submission: Sendable, Hashable {
    public enum Work: Sendable, Hashable {
        /// A definition or a graph definition, by name. For a graph definition `input` holds its parameters and, as
        /// `node.field`, any field of any node.
        case definition(String)
        /// Jobs named by node, with edges among them.
        case jobs([JobRequest], name: String?)
    }

    public var work: Work
    /// Explicit input fields, a JSON object; nil with ``Work/jobs(_:name:)``, where each job has its own.
    public var input: JSONText?
    /// Over what the definitions say, for every job; with ``Work/jobs(_:name:)`` only for jobs that say nothing.
    public var queue: String?
    public var priority: Priority?
    /// Existing jobs to wait for. In a graph, the jobs wait that have no dependency in it, and so the rest.
    public var after: [ExistingDependency]
    public var start: Start
    /// 1 to 255 bytes; repeating a request with its key is harmless.
    public var key: String?

    public enum Start: Sendable, Hashable {
        case now
        case at(Timestamp)
        /// Waits this long in real time, even if the wall clock is set; `at` follows the wall clock.
        case after(Duration)

        public func isLater(than now: Timestamp) -> Bool {
            switch self {
            case .now: false
            case .at(let moment): moment > now
            case .after(let wait): wait > .zero
            }
        }
    }

    public struct ExistingDependency: Sendable, Hashable {
        public var job: JobID
        public var condition: DependencyCondition
        public init(job: JobID, condition: DependencyCondition = .succeeded) {
            self.job = job
            self.condition = condition
        }
    }

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
