import Jobs
import SQLite

extension Writer {
    /// Saves the checkpoints of attempts that still have their leases.
    func save(
        _ checkpoints: [CheckpointSave], by holder: HolderID, now: Timestamp
    ) throws(SQLiteError) -> [SaveResult] {
        var results: [SaveResult] = []
        results.reserveCapacity(checkpoints.count)
        for checkpoint in checkpoints {
            let isSaved =
                try checkpointing.save.runCountingChanges([
                    .job <- checkpoint.lease.job, .attempt <- checkpoint.lease.attempt, .holder <- holder, .now <- now,
                    .value <- checkpoint.value,
                ]) == 1
            if isSaved { memory.checkpointed.insert(checkpoint.lease.job) }
            results.append(isSaved ? .saved : .leaseLost)
        }
        return results
    }

    /// The job's checkpoint for its next attempt. Costs no statement if the job has none.
    func checkpoint(of job: JobID) throws(SQLiteError) -> JSONText? {
        guard memory.checkpointed.contains(job) else { return nil }
        return try checkpointing.value.first([.job <- job]) { $0.json(0) } ?? nil
    }

    /// Deletes the checkpoint of a job that becomes final. Costs no statement if the job has none.
    func deleteCheckpoint(of job: JobID) throws(SQLiteError) {
        guard memory.checkpointed.remove(job) != nil else { return }
        try checkpointing.delete.run([.job <- job])
    }
}

struct CheckpointStatements: StatementGroup {
    let save = Statement(
        """
        INSERT INTO checkpoint (job_id, attempt, saved_ms, value)
        SELECT id, attempt, :now, :value
        FROM   job
        WHERE  id = :job
        AND    state = \(JobState.running)
        AND    attempt = :attempt
        AND    holder_id = :holder
        ON CONFLICT (job_id) DO UPDATE
        SET    attempt = excluded.attempt, saved_ms = excluded.saved_ms, value = excluded.value
        """)
    let value = Statement("SELECT value FROM checkpoint WHERE job_id = :job")
    let delete = Statement("DELETE FROM checkpoint WHERE job_id = :job")
}
