/// The way in which the process that ran the orphans ended, as far as it is known.
public enum LastEnd: Sendable, Hashable {
    /// The process was ended by its own code, through a fatal signal or a call of `exit`.
    case crashed(cause: String)
    /// Nothing explains the end. The process may have been killed from outside (`kill -9`, the OOM killer), called
    /// `_exit`, or overflowed its stack.
    case unexplained
    /// No job caused the end: the machine was restarted, or the store stopped.
    case unrelated(reason: String)

    /// The number of unexplained ends, with only one job running, that count as much as one crash. Killing the process
    /// a few times therefore does not fail an innocent job, while a job that ends every process without a trace fails
    /// eventually.
    public static let unexplainedPerCrash = 10
}
