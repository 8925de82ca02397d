import Jobs
import SQLite

/// Looks up the request that first used an idempotency key.
struct KeyLookup: StatementGroup {
    let find = Statement(
        """
        SELECT fingerprint, graph_id, first_job_id, jobs
        FROM   idempotency
        WHERE  key = :key
        """)

    /// The largest plausible number of jobs for one key, far more than any request contains.
    private static let maxJobs: Int64 = 1 << 28

    /// Returns the first request's receipt, or a refusal if the key was used for a different request. Nil if the key is
    /// unused.
    func outcome(of key: IdempotencyKey) throws(SQLiteError) -> EnqueueOutcome? {
        try find.first([.key <- key.name]) { (row) throws(SQLiteError) in
            guard row.integer(0) == key.fingerprint else {
                return .refused(.keyUsedForAnotherRequest(key: key.name))
            }
            let (first, jobs) = (row.integer(2), row.integer(3))
            guard first > 0, first <= Memory.maxNumber, (1...Self.maxJobs).contains(jobs) else {
                throw .damaged("the key \(key.name) refers to \(jobs) jobs that start at number \(first)")
            }
            return .duplicate(EnqueueReceipt(graph: row.graph(1), jobs: (first..<first + jobs).map(JobID.init(_:))))
        }
    }
}
