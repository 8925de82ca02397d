/// How the process that ran the orphans ended, as far as it can be known.
public enum LastEnd: Sendable, Hashable {
    /// Its own code ended it: by a fatal signal or a call of `exit`.
    case crashed(cause: String)
    /// Nothing says why: killed from outside (`kill -9`, the OOM killer), `_exit`, an overflow of the stack.
    case unexplained
    /// No job had a part in it: the machine was restarted, or the store gave up.
    case unrelated(reason: String)

    /// So many unexplained ends during which a job ran alone count as much as one crash. A process that is killed a few
    /// times costs an innocent job nothing, and a job that ends each process without a trace is still given up one day.
    public static let unexplainedPerCrash = 10
}
