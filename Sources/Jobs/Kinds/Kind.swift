import OperationTypes

/// Code that can run as a job: a typed operation with a name, whose input, output and failure are JSON.
///
/// A job may run more than once (after a crash, or a retry), so a kind documents what makes a second run safe.
///
/// An input is put together in this order: the definition's default fields, overlaid by the job's explicit fields. What
/// a dependency gives fills only what is still missing, through ``accept(_:into:)``.
public protocol Kind: TypedOperation
where Input: Codable, Output: Codable, Failure: OperationFailure {
    /// What this kind can take from a dependency's output. `Never` when it takes nothing, `[T]` to take the
    /// outputs of all dependencies whose output offers a `T`, ``AnyOutput`` to take whatever a dependency gives. Where
    /// it is the input type itself, what a dependency gives lies beneath the fields, and ``accept(_:into:)`` is not asked.
    associatedtype Accepted: Codable & Sendable = Never
    /// What this kind's output gives to a dependent. The output itself unless said otherwise.
    associatedtype Offered: Codable & Sendable = Output

    /// What is told apart in definitions, results and logs: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes.
    static var name: String { get }
    /// One sentence for people.
    static var summary: String { get }
    /// Every field of the input, the ones a person names first at the head. What they say of shapes, choices, ranges and
    /// addresses is checked before a definition is written and before a job is accepted, field by field, so that what a
    /// dependency gives later may be missing.
    static var inputFields: [InputField] { get }
    /// Puts what a dependency offers into an input that lacks it; does nothing when the input already has it.
    static func accept(_ value: Accepted, into input: inout Input)

    static func offer(_ output: Output) -> Offered

    /// Runs as part of a job. The default calls ``TypedOperation/run(_:context:)``.
    func run(_ input: Input, job: JobContext) async throws(Failure) -> Output

    /// Removes the state that the kind kept for a further attempt of the job. The runner calls it once the job's
    /// success is durable. A crash may prevent the call; ``takeBack(asking:)`` then does the same at the next start. It
    /// must return at once, since the runner claims no jobs meanwhile. The default does nothing.
    func didSucceed(_ job: JobID)

    /// Takes back what jobs that have ended left elsewhere, such as at a server. A daemon calls it when it starts, when jobs
    /// were cancelled or failed, and every hour while something is left. Unless said otherwise there is nothing.
    ///
    /// - Parameter state: Of a job; nil when there is no such job, or no longer.
    /// - Returns: Whether something is left for another time.
    func takeBack(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool
}

extension Kind {
    public func run(_ input: Input, job: JobContext) async throws(Failure) -> Output {
        try await run(input, context: job.operation)
    }

    public func didSucceed(_ job: JobID) {}

    public func takeBack(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool { false }
}

extension Kind where Accepted == Never {
    public static func accept(_ value: Never, into input: inout Input) {}
}

extension Kind where Offered == Output {
    public static func offer(_ output: Output) -> Output { output }
}

/// The ``Kind/Accepted`` of a kind that takes any dependency's output, as the JSON that is stored.
public struct AnyOutput: Codable, Sendable, Hashable {
    /// The output as JSON text.
    public var json: String
    public init(json: String) { self.json = json }
}

/// A web address that one job gives to the next: what `unfurl` offers and `enrich` accepts.
public struct Link: Codable, Sendable, Hashable {
    public var url: String
    public init(url: String) { self.url = url }
}

/// One field of a kind's input, as people see it.
public struct InputField: Sendable, Hashable, Codable {
    public enum Shape: String, Sendable, Hashable, Codable {
        case string, integer, number, boolean, object, array
    }

    public var name: String
    public var shape: Shape
    /// Nil when any value of the shape is taken.
    public var choices: [String]?
    /// The whole numbers that are taken; nil for any.
    public var range: ClosedRange<Int64>?
    /// Of a string that is an address: how it may begin, in lower case, such as `https`; nil for any string.
    public var schemes: [String]?
    /// Whether the input is nothing without it; see ``isFromDependency``.
    public var isRequired: Bool
    /// Whether a dependency's output fills the field when it is absent. A required one must then be given either way: an
    /// edge that does not fit is refused.
    public var isFromDependency: Bool
    /// What it means, with unit and default.
    public var summary: String

    public init(
        _ name: String, _ shape: Shape, choices: [String]? = nil, range: ClosedRange<Int64>? = nil,
        schemes: [String]? = nil, isRequired: Bool = false, isFromDependency: Bool = false, summary: String
    ) {
        self.name = name
        self.shape = shape
        self.choices = choices
        self.range = range
        self.schemes = schemes
        self.isRequired = isRequired
        self.isFromDependency = isFromDependency
        self.summary = summary
    }

    enum CodingKeys: String, CodingKey {
        case name, shape, choices, range, schemes, summary
        case isRequired = "required"
        case isFromDependency = "from_dependency"
    }
}

/// What surrounds one attempt of a job.
public struct JobContext: Sendable {
    public let lease: Lease
    public let operation: OperationContext
    private let isStopped: @Sendable () -> Bool
    private let isLast: @Sendable (_ code: String, _ isRetryable: Bool) -> Bool
    private let onEnqueue: @Sendable (ChildJob) -> Void

    /// - Parameters:
    ///   - isStoppedForGood: ``isStoppedForGood``.
    ///   - isLast: ``wouldEnd(with:)``.
    public init(
        lease: Lease, operation: OperationContext, isStoppedForGood: @escaping @Sendable () -> Bool = { false },
        isLast: @escaping @Sendable (_ code: String, _ isRetryable: Bool) -> Bool = { _, _ in false },
        onEnqueue: @escaping @Sendable (ChildJob) -> Void
    ) {
        self.lease = lease
        self.operation = operation
        isStopped = isStoppedForGood
        self.isLast = isLast
        self.onEnqueue = onEnqueue
    }

    /// Whether this attempt was told to stop and the job does not run again, so that what was begun elsewhere may be taken
    /// back: the job was cancelled, or the time of its last attempt is over.
    public var isStoppedForGood: Bool { isStopped() }

    /// Whether the job fails for good when this attempt throws `failure`, so that what was begun elsewhere may be taken back.
    public func wouldEnd(with failure: some OperationFailure) -> Bool { isLast(failure.code, failure.isRetryable) }

    /// Enqueues a job together with this attempt's success, in the same transaction. When the attempt does not succeed,
    /// nothing is enqueued.
    public func enqueue(_ child: ChildJob) { onEnqueue(child) }
}

/// A job that a running job asks for.
public struct ChildJob: Sendable, Hashable {
    public var definition: String
    public var input: JSONText?
    /// Made when there is none, also when it was removed: nobody sees that code names a queue.
    public var queue: String?
    public var priority: Priority?

    public init(
        definition: String, input: JSONText? = nil, queue: String? = nil, priority: Priority? = nil
    ) {
        self.definition = definition
        self.input = input
        self.queue = queue
        self.priority = priority
    }
}
