import FoundationEssentials
import OperationTypes

/// A kind whose types are known only inside: it takes and gives JSON.
///
/// Decoding and encoding happen here and nowhere else.
public struct RunnableKind: Sendable {
    let erased: any ErasedKind

    public init(_ kind: some Kind) { erased = KindBox(kind: kind) }

    public var description: KindDescription { erased.description }

    /// Puts the input together, runs the kind, and encodes what it gives.
    ///
    /// - Parameter kinds: Where the kinds of the dependencies are found; an output of a kind that is not there can only
    ///   be taken as ``AnyOutput``.
    public func run(
        _ payload: JobPayload, job: JobContext, kinds: KindRegistry
    ) async -> Result<JSONText, FailedTry> {
        await erased.run(payload, job: job, kinds: kinds)
    }

    /// Calls ``Kind/didSucceed(_:)``.
    public func didSucceed(_ job: JobID) { erased.didSucceed(job) }
}

/// What the input of a job is made of.
public struct JobPayload: Sendable, Hashable {
    /// The definition's default fields.
    public var defaults: JSONObject
    public var explicit: JSONText?
    /// In declared order.
    public var dependencies: [DependencyOutput]

    public init(defaults: JSONObject = JSONObject(), explicit: JSONText? = nil, dependencies: [DependencyOutput] = []) {
        self.defaults = defaults
        self.explicit = explicit
        self.dependencies = dependencies
    }
}

/// A failure, and what it says about trying again.
public struct FailedTry: Error, Sendable, Hashable {
    public var failure: JobFailure
    public var isRetryable: Bool
    /// The wait that the other side asked for.
    public var retryAfter: Duration?

    public init(_ failure: JobFailure, isRetryable: Bool, retryAfter: Duration? = nil) {
        self.failure = failure
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
    }

    /// A failure that no other try can mend.
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
            let message = "the input does not fit the kind \(K.name): \(PayloadCoding.explain(error))"
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
            let message = "the output of the kind \(K.name) has no form in JSON: \(PayloadCoding.explain(error))"
            return .failure(.permanent(JobFailure.Code.invalidOutput, message))
        }
    }
}
