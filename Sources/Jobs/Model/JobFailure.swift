/// Why an attempt or a job did not succeed, as it is stored: `{"code": …, "message": …, "detail": …}`.
public struct JobFailure: Hashable, Sendable, Error {
    /// Stable, snake_case: the kind's own code or one of ``JobFailure/Code``.
    public var code: String
    /// For people; says what to do. Never a secret, never a payload.
    public var message: String
    /// The kind's typed failure, as JSON.
    public var detail: JSONText?

    public init(code: String, message: String, detail: JSONText? = nil) {
        self.code = code
        self.message = message
        self.detail = detail
    }

    /// The codes the engine itself gives.
    public enum Code {
        public static let timedOut = "timed_out"
        public static let crashed = "crashed"
        public static let cancelled = "cancelled"
        public static let interrupted = "interrupted"
        public static let invalidInput = "invalid_input"
        public static let invalidOutput = "invalid_output"
        public static let unknownKind = "unknown_kind"
        public static let resultTooLarge = "result_too_large"
        /// It succeeded, but a job that it enqueues was refused.
        public static let childrenRefused = "children_refused"
        public static let dependencyFailed = "dependency_failed"
        public static let dependencyCancelled = "dependency_cancelled"
        public static let dependencySkipped = "dependency_skipped"
    }
}
