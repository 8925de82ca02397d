import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Saves the checkpoints of attempts that still have their leases.
    func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now passed: Timestamp
    ) throws(PostgresError) -> [SaveResult] {
        let now = time.now(passed)
        // The lock of the life: a rescue sees either the checkpoint or no running job.
        _ = try isAlive(holder)
        // The later of two checkpoints of one attempt stays. The order is fixed, since saving locks the jobs.
        var values: [Lease: JSONText] = [:]
        for checkpoint in checkpoints { values[checkpoint.lease] = checkpoint.value }
        let leases = values.keys.sorted { ($0.job, $0.attempt) < ($1.job, $1.attempt) }
        var saved: Set<Lease> = []
        try run(
            Statements.save, .jobs(leases.map(\.job)), .integers(leases.map { Int64($0.attempt) }),
            .jsons(leases.map { values[$0] }), .integer(holder.rawValue), .time(now)
        ).forEach { saved.insert(Lease(job: $0.job(0), attempt: $0.int(1))) }
        return checkpoints.map { saved.contains($0.lease) ? .saved : .leaseLost }
    }

    private enum Statements {
        /// The leases are sorted. Locks the running jobs: a transaction whose connection broke may still be at work when the next one ends them.
        static let save = Statement(
            """
            INSERT INTO halyard.checkpoint (job, attempt, saved_ms, value)
            SELECT job, attempt, $5::bigint, value
            FROM   (SELECT job, attempt, ($3::text[])[width_bucket(job, $1::bigint[])] AS value
                    FROM   halyard.running
                    WHERE  job = ANY ($1::bigint[])
                    AND    attempt = ($2::bigint[])[width_bucket(job, $1::bigint[])]
                    AND    daemon + 0 = $4::bigint
                    FOR KEY SHARE) AS held
            ON CONFLICT (job) DO UPDATE
            SET    attempt = excluded.attempt, saved_ms = excluded.saved_ms, value = excluded.value
            RETURNING job, attempt
            """)
    }
}

extension Reader {
    func checkpoint(of job: JobID) throws(PostgresError) -> Checkpoint? {
        try run(Statements.checkpoint, .job(job)).first.flatMap { row in
            row.json(2).map { Checkpoint(attempt: row.int(0), savedAt: row.timestamp(1), value: $0) }
        }
    }

    private enum Statements {
        static let checkpoint = Statement(
            "SELECT attempt, saved_ms, value FROM halyard.checkpoint WHERE job = $1::bigint")
    }
}
