import Jobs
import SQLite

/// Looks up the request that first used an idempotency key.
struct KeyLookup: ~Copyable {
    static let sql: SQL = """
        SELECT fingerprint, graph_id, first_job_id, jobs
        FROM   idempotency
        WHERE  key = :key
        """

    /// The largest plausible number of jobs for one key, far more than any request contains.
    private static let maxJobs: Int64 = 1 << 28

    private let find: Statement

    init(_ connection: Connection) { find = connection.prepare(Self.sql) }

    /// Returns the first request's receipt, or a refusal if the key was used for a different request. Nil if the key is
    /// unused.
    func outcome(of key: IdempotencyKey) throws(SQLiteError) -> EnqueueOutcome? {
        try find.bind(1, key.name)
        guard try find.step() else { return nil }
        defer { find.reset() }
        guard find.integer(0) == key.fingerprint else { return .refused(.keyUsedForAnotherRequest(key: key.name)) }
        let first = find.integer(2)
        let jobs = find.integer(3)
        guard first > 0, first <= Memory.maxNumber, (1...Self.maxJobs).contains(jobs) else {
            throw .damaged("the key \(key.name) refers to \(jobs) jobs that start at number \(first)")
        }
        return .duplicate(
            EnqueueReceipt(
                graph: find.optionalInteger(1).map(GraphID.init(_:)), jobs: (first..<first + jobs).map(JobID.init(_:))))
    }
}
