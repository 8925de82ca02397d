/// The jobs whose changes a watch or a subscription reports.
public enum WatchScope: Sendable, Hashable {
    /// One job.
    case job(JobID)
    /// All jobs of a graph, including jobs that are added later.
    case graph(GraphID)
    /// All jobs of the database.
    case all
}
