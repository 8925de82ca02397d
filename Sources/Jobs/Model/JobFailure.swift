/// The reason why an attempt or a job did not succeed, stored as `{"code": …, "message": …, "detail": …}`.
public struct JobFailure: Hashable, Sendable, Error {
    /// A stable identifier in snake_case: one of the kind's own codes, or one of ``JobFailure/Code``.
    public let code: String
    /// An explanation for people that says what to do. It never contains a secret or a payload.
    public let message: String
    /// The kind's typed failure as JSON; nil if there is none.
    public let detail: JSONText?

    /// The maximum size of ``message``: 16 KiB.
    public static let maxMessageBytes = 16 << 10
    /// The maximum size of ``detail``: 64 KiB.
    public static let maxDetailBytes = 64 << 10

    /// Creates a failure that always fits the store's limits, whatever an operation throws. A message that is too long
    /// is truncated and ends with "…", a detail that is too large is dropped, and the code is truncated to 100 bytes.
    public init(code: String, message: String, detail: JSONText? = nil) {
        self.code = code.cut(toBytes: 100, ending: "")
        self.message = message.cut(toBytes: Self.maxMessageBytes, ending: "…")
        self.detail = detail.flatMap { $0.bytes.count <= Self.maxDetailBytes ? $0 : nil }
    }

    /// The failure codes that the engine itself assigns.
    public enum Code {
        /// The attempt ran longer than its definition's timeout.
        public static let timedOut = "timed_out"
        /// The process that ran the attempt crashed, or ended without an explanation.
        public static let crashed = "crashed"
        /// The job was cancelled, before it started or while it ran.
        public static let cancelled = "cancelled"
        /// The daemon or the machine stopped during the attempt; the job runs again.
        public static let interrupted = "interrupted"
        /// The input could not be decoded as the kind's input type.
        public static let invalidInput = "invalid_input"
        /// The output could not be encoded as JSON.
        public static let invalidOutput = "invalid_output"
        /// The process that should run the attempt does not know the kind.
        public static let unknownKind = "unknown_kind"
        /// The stored definition of the job is invalid.
        public static let badDefinition = "bad_definition"
        /// The output is larger than ``JSONText/maxBytes``.
        public static let resultTooLarge = "result_too_large"
        /// The outputs of the job's dependencies are together too large for one input.
        public static let inputTooLarge = "input_too_large"
        /// The operation succeeded, but a child job that it enqueued was refused.
        public static let childrenRefused = "children_refused"
        /// The job was skipped because a dependency failed.
        public static let dependencyFailed = "dependency_failed"
        /// The job was skipped because a dependency was cancelled.
        public static let dependencyCancelled = "dependency_cancelled"
        /// The job was skipped because a dependency was itself skipped.
        public static let dependencySkipped = "dependency_skipped"
    }
}

extension String {
    fileprivate func cut(toBytes limit: Int, ending: String) -> String {
        if utf8.count <= limit { return self }
        var size = ending.utf8.count
        return String(
            unicodeScalars.prefix { scalar in
                size += scalar.utf8.count
                return size <= limit
            }) + ending
    }
}
