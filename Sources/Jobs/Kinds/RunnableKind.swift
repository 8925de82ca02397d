import FoundationEssentials
import OperationTypes

/// A kind with its types erased, so that its input and output are JSON.
///
/// All decoding and encoding of payloads in this process happens here.
public struct RunnableKind: Sendable {
    /// The place where the kind's code runs.
    public enum Place: Sendable {
        /// In this process.
        case here(any Kind)
        /// In a process of a worker program.
        case hosted(by: any KindHost)
    }

    /// The place where the kind's code runs.
    public let place: Place
    /// The kind's description.
    public let description: KindDescription
    /// The type of value that the output offers; nil if another process knows it.
    let offeredType: (any Any.Type)?

    /// Erases the types of a kind that runs in this process.
    public init<K: Kind>(_ kind: K) {
        place = .here(kind)
        description = K.description
        offeredType = K.Offered.self
    }

    /// Creates a kind that a worker program runs.
    public init(_ description: KindDescription, hostedBy host: any KindHost) {
        place = .hosted(by: host)
        self.description = description
        offeredType = nil
    }

    /// The host that runs the kind; nil if the kind runs in this process.
    public var host: (any KindHost)? {
        if case .hosted(let host) = place { return host }
        return nil
    }

    /// The kind's code; nil if another process has it.
    public var kind: (any Kind)? {
        if case .here(let kind) = place { return kind }
        return nil
    }

    /// Derives the value that the kind's output offers to a dependent; nil if another process derives it.
    func offer(_ output: JSONText) throws -> (any Sendable)? {
        func offer<K: Kind>(_ kind: K) throws -> any Sendable {
            K.offer(try PayloadCoding.decode(K.Output.self, from: output))
        }
        return try kind.map { try offer($0) }
    }

    /// Builds the input, runs the kind in this process, and encodes its output. Call it only if ``place`` is `here`.
    ///
    /// - Parameter kinds: The registry with the kinds of the dependencies. The output of a kind that it does not
    ///   contain can be accepted only as ``AnyOutput``.
    /// - Returns: The encoded output, or the failure. An input that does not fit and an output that cannot be encoded
    ///   are permanent failures.
    public func run(
        _ payload: JobPayload, job: JobContext, kinds: KindRegistry
    ) async -> Result<JSONText, TryFailure> {
        guard case .here(let kind) = place else { preconditionFailure("another process runs this kind") }
        return await Self.run(kind, payload, job, kinds)
    }

    /// The success of an attempt is durable; see ``Kind/didSucceed(_:)``.
    public func didSucceed(_ lease: Lease) {
        switch place {
        case .here(let kind): kind.didSucceed(lease.job)
        case .hosted(let host): host.recorded(lease, kind: description.name)
        }
    }

    private static func run<K: Kind>(
        _ kind: K, _ payload: JobPayload, _ job: JobContext, _ kinds: KindRegistry
    ) async -> Result<JSONText, TryFailure> {
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
                TryFailure(
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

    /// The input from the definition and the job alone. If only one of them has any, its text is returned without being
    /// parsed.
    public var input: JSONText {
        guard let explicit else { return defaults.isEmpty ? .emptyObject : defaults.text }
        if defaults.isEmpty { return explicit }
        return JSONObject(explicit).map { defaults.overlaid(by: $0).text } ?? explicit
    }
}

/// A failure of one try, with the kind's judgement on retrying.
public struct TryFailure: Error, Sendable, Hashable {
    /// The failure to store.
    public var failure: JobFailure
    /// Whether another try may succeed; the retry policy decides whether there is one.
    public var isRetryable: Bool
    /// The wait before another try that the remote side requested; nil for the retry policy's own.
    public var retryAfter: Duration?

    /// Creates a failed try.
    public init(_ failure: JobFailure, isRetryable: Bool, retryAfter: Duration? = nil) {
        self.failure = failure
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
    }

    /// A failure that another try cannot fix.
    public static func permanent(_ code: String, _ message: String) -> TryFailure {
        TryFailure(JobFailure(code: code, message: message), isRetryable: false)
    }
}
