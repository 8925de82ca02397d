/// The end of the process that ran an attempt, such as a worker process. It ended every attempt in that process.
public struct Crash: Sendable, Hashable {
    /// The failure to record for the attempt. The store adds two fields to its detail: `beside`, which is ``others``,
    /// and, if the crash is explained, `cause`. A text that the detail already has as `cause` is kept then.
    public var failure: JobFailure
    /// How many other attempts had begun in the process and had not ended. The crash counts against the job only if
    /// there were none.
    public var others: Int
    /// Whether the process was ended by its own code: a fatal signal other than SIGKILL, or a call of `exit`. A crash
    /// without an explanation counts less (``LastEnd/unexplainedPerCrash``).
    public var isExplained: Bool

    /// Creates a crash.
    public init(failure: JobFailure, others: Int, isExplained: Bool) {
        self.failure = failure
        self.others = others
        self.isExplained = isExplained
    }
}
