/// Why an attempt or a job did not succeed, as it is stored: `{"code": …, "message": …, "detail": …}`.
public struct JobFailure: Hashable, Sendable, Error {
    /// Stable, snake_case: the kind's own code or one of ``JobFailure/Code``.
    public let code: String
    /// For people; says what to do. Never a secret, never a payload.
    public let message: String
    /// The kind's typed failure, as JSON.
    public let detail: JSONText?

    /// The largest `message` and `detail`: 16 KiB and 64 KiB.
    public static let maxMessageBytes = 16 << 10
    public static let maxDetailBytes = 64 << 10

    /// Whatever an operation throws can be stored: a longer message is cut and ends with "…", a larger detail is left out,
    /// a code is cut to 100 bytes.
    public init(code: String, message: String, detail: JSONText? = nil) {
        self.code = code.cut(toBytes: 100)
        self.message = message.cut(toBytes: Self.maxMessageBytes)
        self.detail = detail.flatMap { $0.bytes.count <= Self.maxDetailBytes ? $0 : nil }
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
        /// What is stored of the job's definition cannot be read.
        public static let badDefinition = "bad_definition"
        public static let resultTooLarge = "result_too_large"
        /// What its dependencies gave is too large to be one input.
        public static let inputTooLarge = "input_too_large"
        /// It succeeded, but a job that it enqueues was refused.
        public static let childrenRefused = "children_refused"
        public static let dependencyFailed = "dependency_failed"
        public static let dependencyCancelled = "dependency_cancelled"
        public static let dependencySkipped = "dependency_skipped"
    }
}

extension String {
    fileprivate func cut(toBytes limit: Int) -> String {
        if utf8.count <= limit { return self }
        var size = 3
        return String(
            unicodeScalars.prefix { scalar in
                size += scalar.utf8.count
                return size <= limit
            }) + "…"
    }
}
