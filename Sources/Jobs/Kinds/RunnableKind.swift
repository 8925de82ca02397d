import FoundationEssentials
import OperationTypes

/// A kind with its types erased, so that its input and output are JSON.
///
/// All decoding and encoding of payloads happens here.
public struct RunnableKind: Sendable {
    let erased: any ErasedKind

    /// Erases the types of a kind.
    public init(_ kind: some Kind) { erased = KindBox(kind: kind) }

    /// The kind's description.
    public var description: KindDescription { erased.description }

    /// Builds the input, runs the kind, and encodes its output.
    ///
    /// - Parameter kinds: The registry with the kinds of the dependencies. The output of a kind that it does not
    ///   contain can be accepted only as ``AnyOutput``.
    /// - Returns: The encoded output, or the failure. An input that does not fit and an output that cannot be encoded
    ///   are permanent failures.
    public func run(
        _ payload: JobPayload, job: JobContext, kinds: KindRegistry
    ) async -> Result<JSONText, FailedTry> {
        await erased.run(payload, job: job, kinds: kinds)
    }

    /// Notifies the kind that a job's success is durable; see ``Kind/didSucceed(_:)``.
    public func didSucceed(_ job: JobID) { erased.didSucceed(job) }
}

/// The parts that the input of a job is built from.
public struct JobPayload: Sendable, Hashable {
    /// The definition's default fields.
    public var defaults: JSONObject
    /// The job's explicit input; nil if it has none.
    public var explicit: JSONText?
    /// The outputs of the dependencies, in declared order.
    public var dependencies: [DependencyOutput]

    /// Creates a payload; without arguments its input is an empty object.
    public init(defaults: JSONObject = JSONObject(), explicit: JSONText? = nil, dependencies: [DependencyOutput] = []) {
        self.defaults = defaults
        self.explicit = explicit
        self.dependencies = dependencies
    }
}

/// A failure of one try, with the kind's judgement on retrying.
public struct FailedTry: Error, Sendable, Hashable {
    /// The failure to store.
    public var failure: JobFailure
    /// Whether another try may succeed; the retry policy decides whether there is one.
    public var isRetryable: Bool
    /// The wait that the remote side asked for before another try; nil for the retry policy's own.
    public var retryAfter: Duration?

    /// Creates a failed try.
    public init(_ failure: JobFailure, isRetryable: Bool, retryAfter: Duration? = nil) {
        self.failure = failure
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
    }

    /// A failure that another try cannot fix.
    static func permanent(_ code: String, _ message: String) -> FailedTry {
        FailedTry(JobFailure(code: code, message: message), isRetryable: false)
    }
}

protocol ErasedKind: Sendable {
    var description: KindDescription { get }
    var acceptedType: any Any.Type { get }
    var offeredType: Any.Type { get }
    func offer(_ output: JSONText) throws -> any Sendable
    func run(_ payload: JobPayload, job: JobContext, kinds: KindRegistry) async -> Result<JSONText, FailedTry>
    func didSucceed(_ job: JobID)
}

private struct KindBox<K: Kind>: ErasedKind {
    let kind: K
    let description = K.description

    init(kind: K) { self.kind = kind }

    var acceptedType: any Any.Type { K.Accepted.self }
    var offeredType: Any.Type { K.Offered.self }

    func offer(_ output: JSONText) throws -> any Sendable {
        K.offer(try PayloadCoding.decode(K.Output.self, from: output))
    }

    func didSucceed(_ job: JobID) { kind.didSucceed(job) }

    func run(_ payload: JobPayload, job: JobContext, kinds: KindRegistry) async -> Result<JSONText, FailedTry> {
        let input: K.Input
        do {
            input = try InputBinding<K>(payload: payload, kinds: kinds).input()
        } catch {
            let message = "the input is not valid for the kind \(K.name): \(PayloadCoding.explain(error))"
            return .failure(.permanent(JobFailure.Code.invalidInput, message))
        }
        let output: K.Output
        do {
            output = try await kind.run(input, job: job)
        } catch {
            return .failure(
                FailedTry(
                    JobFailure(code: error.code, message: error.description, detail: PayloadCoding.detail(error)),
                    isRetryable: error.isRetryable, retryAfter: error.retryAfter))
        }
        do {
            return .success(try PayloadCoding.encode(output))
        } catch {
            let message = "the output of the kind \(K.name) cannot be encoded as JSON: \(PayloadCoding.explain(error))"
            return .failure(.permanent(JobFailure.Code.invalidOutput, message))
        }
    }
}
