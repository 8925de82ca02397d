import OperationTypes

/// A kind of job: a typed operation with a name, whose input, output and failure are JSON.
///
/// A job may run more than once, after a crash or for a retry, so the documentation of each kind states why a second
/// run is safe.
///
/// The input consists of the definition's default fields, overlaid by the job's explicit fields. A dependency's output
/// supplies only fields that are still missing, through ``accept(_:into:)``.
public protocol Kind: TypedOperation, KindSignature where Failure: OperationFailure {
    // The compiler infers these types of the two protocols only if they are declared again beside the requirements that
    // use them.
    associatedtype Input
    associatedtype Output
    associatedtype Accepted = Never
    associatedtype Offered = Output

    /// Runs the kind outside of a job; see ``TypedOperation/run(_:context:)``.
    func run(_ input: Input, context: OperationContext) async throws(Failure) -> Output
    /// A description for people, in one sentence.
    static var summary: String { get }
    /// All fields of the input. The fields that a person gives on the command line come first.
    ///
    /// Shapes, choices, ranges and addresses are checked before a definition is written and before a job is accepted.
    /// Each field is checked on its own, because a dependency may supply missing fields later.
    static var inputFields: [InputField] { get }
    /// Adds the value that a dependency offers to an input that lacks it. Does nothing if the input already has a
    /// value.
    static func accept(_ value: Accepted, into input: inout Input)

    /// Derives the value that this kind's output offers to a dependent. The default returns the output.
    static func offer(_ output: Output) -> Offered

    /// Whether ``refusal(of:)`` or ``blockingCheck(of:)`` may refuse an input. Default: true. If false, a worker process
    /// with this kind is not started or asked when a job is enqueued.
    static var checksInputs: Bool { get }
    /// Whether ``didSucceed(_:)`` or ``cleanUp(asking:)`` does anything. Default: true. If false, a worker process with
    /// this kind is not asked.
    static var cleansUp: Bool { get }

    /// Returns the reason why every run with this input would fail, whatever happens until then; nil if a run may
    /// succeed. The daemon asks before it accepts a job and before it stores a definition, after it has checked
    /// ``inputFields``. The call must return at once. The default returns nil.
    ///
    /// A run must check its input again: the kind can run without a daemon, and a dependency may supply fields later.
    func refusal(of input: PlannedInput) -> InputRefusal?

    /// Returns a check that ``refusal(of:)`` cannot make because it may block, for example on a disk; nil if there is
    /// nothing to check, which is the default.
    ///
    /// The daemon runs the check on a separate thread. All checks of one request together may take a second. The daemon
    /// accepts an input whose check takes longer, so that only the run finds the problem.
    func blockingCheck(of input: PlannedInput) -> (@Sendable () -> InputRefusal?)?

    /// Runs the kind as part of a job. The default calls ``TypedOperation/run(_:context:)``.
    ///
    /// - Throws: The kind's failure. Its `isRetryable` states whether another attempt may succeed.
    func run(_ input: Input, job: JobContext) async throws(Failure) -> Output

    /// Removes state that the kind kept for another attempt of the job. The runner calls it once the job's success is
    /// durable. A crash can prevent the call; ``cleanUp(asking:)`` then does the same at the next start. It must
    /// return quickly, because the runner claims no jobs until it does. The default does nothing.
    func didSucceed(_ job: JobID)

    /// Cleans up remote state that ended jobs left behind, such as an unfinished upload on a server. The daemon calls
    /// it when it starts, after jobs were cancelled or failed, and every hour while something is left. The default does
    /// nothing.
    ///
    /// - Parameter state: Returns the state of a job; nil if the job does not exist or was pruned.
    /// - Returns: Whether some state is left to clean up later.
    /// - Throws: The error of `state`. The next call tries again.
    func cleanUp(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool
}

extension Kind {
    /// True.
    public static var checksInputs: Bool { true }

    /// True.
    public static var cleansUp: Bool { true }

    /// Runs the operation without using the job.
    public func run(_ input: Input, job: JobContext) async throws(Failure) -> Output {
        try await run(input, context: job.operation)
    }

    /// Returns nil.
    public func refusal(of input: PlannedInput) -> InputRefusal? { nil }

    /// Returns nil.
    public func blockingCheck(of input: PlannedInput) -> (@Sendable () -> InputRefusal?)? { nil }

    /// Does nothing.
    public func didSucceed(_ job: JobID) {}

    /// Does nothing and returns false.
    public func cleanUp(
        asking state: @Sendable (JobID) async throws(StoreError) -> JobState?
    ) async throws(StoreError) -> Bool { false }
}

extension Kind where Accepted == Never {
    /// Never called, because there is no value to accept.
    public static func accept(_ value: Never, into input: inout Input) {}
}

extension Kind where Offered == Output {
    /// Returns the output itself.
    public static func offer(_ output: Output) -> Output { output }
}

/// The ``Kind/Accepted`` type of a kind that accepts any dependency's output, as the stored JSON.
public struct AnyOutput: Codable, Sendable, Hashable {
    /// The output as JSON text.
    public var json: String
    /// Wraps a JSON text; it is not checked.
    public init(json: String) { self.json = json }
}

/// A web address that one job passes to the next. The kind `unfurl` offers it and `enrich` accepts it.
public struct Link: Codable, Sendable, Hashable {
    /// The address, such as `https://example.org/x`.
    public var url: String
    /// Wraps an address; it is not checked.
    public init(url: String) { self.url = url }
}

/// A field of a kind's input, as presented to people.
public struct InputField: Sendable, Hashable, Codable {
    /// The type of value that an input field accepts.
    public enum Shape: String, Sendable, Hashable, Codable {
        /// The JSON types; `integer` is a number without a fraction.
        case string, integer, number, boolean, object, array
        /// A number of bytes: a string with a unit, such as `100KiB`, or a whole number; see ``ByteSize``.
        case size
        /// A duration: a string such as `1h30m`; see ``HumanDuration``.
        case duration
        /// A type of a later release, of which this one knows nothing; every value is accepted.
        case any
    }

    /// The name of the field in the JSON object.
    public var name: String
    /// The type that the value must have.
    public var shape: Shape
    /// The strings that the field accepts; nil if it accepts every value of its shape.
    public var choices: [String]?
    /// The whole numbers that the field accepts; nil if it accepts all. In bytes for a size, and in milliseconds for a
    /// duration.
    public var range: ClosedRange<Int64>?
    /// The URL schemes that the field accepts if it contains an address, in lower case, such as `https`. Nil if it
    /// accepts any string.
    public var schemes: [String]?
    /// Whether the field must be given; see ``isFromDependency``.
    public var isRequired: Bool
    /// Whether a dependency's output supplies the field if it is absent. If the field is also required and absent, an
    /// edge from a dependency whose output does not fit is refused.
    public var isFromDependency: Bool
    /// The meaning of the field for people, with its unit and default.
    public var summary: String

    /// Creates a description of a field. Default: an optional field that accepts every value of its shape.
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
