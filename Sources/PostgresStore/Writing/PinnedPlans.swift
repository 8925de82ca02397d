/// Settings for the plans of a transaction.
///
/// Plans must not depend on statistics, which are wrong for tables that are filled and emptied within minutes, and
/// missing for new ones: a scan of a whole table is never chosen where an index can be used, and the server starts no
/// processes to read a few rows. The settings last until the end of the transaction, so they do not leak to other clients
/// of a connection pool.
///
/// No setting keeps a join from beginning at the table that the server believes to be empty, such as one whose rows were
/// all deleted under a held snapshot. So statements find the rows of hot tables by `job = ANY (…)`, not by a join with
/// the array, and never by a column whose index contains many deleted rows.
enum PinnedPlans {
    private static let settings = [
        ("plan_cache_mode", "force_generic_plan"), ("jit", "off"), ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"), ("enable_hashjoin", "off"), ("enable_mergejoin", "off"),
        ("max_parallel_workers_per_gather", "0"),
    ]

    /// Statements that apply the settings.
    static let sql = settings.map { "SET LOCAL \($0) = \($1);" }.joined(separator: " ")
    /// The same settings as columns of a `SELECT`, which can be prepared.
    static let calls = settings.map { "set_config('\($0)', '\($1)', true)" }.joined(separator: ", ")
}
