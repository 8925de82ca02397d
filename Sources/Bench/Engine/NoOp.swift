import Jobs
import OperationTypes

/// A job that does nothing, so that only the engine is measured. Its input and output are the stored bytes.
struct NoOp: Kind {
    static let name = "noop"
    static let summary = "does nothing"
    static let inputFields: [InputField] = []
    static let checksInputs = false
    static let cleansUp = false

    /// 210 and 204 bytes, as in the C loop.
    static let input = JSONText(trusted: Array((#"{"pad":""# + String(repeating: "i", count: 200) + #""}"#).utf8))
    static let output = JSONText(trusted: Array((#"{"pad":""# + String(repeating: "o", count: 194) + #""}"#).utf8))

    /// Called with the job and the time at which it starts.
    let onStart: @Sendable (JobID, ContinuousClock.Instant) -> Void

    init(onStart: @escaping @Sendable (JobID, ContinuousClock.Instant) -> Void = { _, _ in }) {
        self.onStart = onStart
    }

    func run(_ input: JSONText, context: OperationContext) async throws(Failure) -> JSONText { NoOp.output }

    func run(_ input: JSONText, job: JobContext) async throws(Failure) -> JSONText {
        onStart(job.lease.job, .now)
        return NoOp.output
    }

    /// Never thrown.
    struct Failure: OperationFailure {
        var code: String { "none" }
        var isRetryable: Bool { false }
        var description: String { "nothing fails" }
    }
}
