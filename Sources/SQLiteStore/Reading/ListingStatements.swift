import Jobs
import SQLite

/// The statements for listings.
struct ListingStatements: StatementGroup {
    let all = Walk("NOT INDEXED", ":key IS NULL")
    let graph = Walk("INDEXED BY job_graph", "graph_id = :key")
    let open = Walk("INDEXED BY job_open", "state < \(JobState.firstFinal) AND state = :key")
    let unsuccessful = Walk("INDEXED BY job_unsuccessful", "state >= \(JobState.firstUnsuccessful) AND state = :key")

    /// Walks one index in the order of the jobs' numbers, and returns for every job whether the filter selects it. So a
    /// walk can end after a bounded number of rows, even if the filter selects few of them.
    struct Walk: StatementGroup {
        let newestFirst: Statement
        let oldestFirst: Statement

        init(_ index: SQL, _ condition: SQL) {
            func walk(_ order: SQL) -> Statement {
                Statement(
                    """
                    SELECT   id,
                             (:queue IS NULL OR queue_id = (SELECT id FROM queue WHERE name = :queue))
                             AND (:definition IS NULL OR definition_id IN (SELECT id FROM definition WHERE name = :definition))
                             AND (:kind IS NULL OR definition_id IN (SELECT id FROM definition WHERE kind = :kind))
                             AND (:states >> state) & 1
                    FROM     job \(index)
                    WHERE    \(condition)
                    AND      id < :below
                    AND      id > :above
                    ORDER BY id \(order)
                    """)
            }
            newestFirst = walk("DESC")
            oldestFirst = walk("ASC")
        }
    }
}
