import Jobs
import SQLite
import StoreParts

extension Writer {
    /// Writes the counts and the clock's row if the transaction changed them. Nothing may change between this and
    /// ``commit()``.
    func flush() throws(SQLiteError) {
        for index in memory.changedTallies {
            let queue = memory.queues[index]
            let tally = queue.tally
            try flushing.setTally.run([
                .queue <- queue.id, .steady <- steady.now, .blocked <- tally[.blocked],
                .scheduled <- tally[.scheduled], .ready <- tally[.ready], .running <- tally[.running],
                .succeeded <- tally[.succeeded], .failed <- tally[.failed], .cancelled <- tally[.cancelled],
                .skipped <- tally[.skipped],
            ])
        }
        memory.talliesAreWritten()
        if settingsChanged { try flushing.setVersion.run([.version <- memory.settingsVersion.rawValue]) }
        if let change = steady.takeChange() { try clock.write(change) }
        for (graph, change) in graphChanges where !change.tally.isZero {
            let tally = change.tally
            try flushing.addToGraph.run([
                .graph <- graph, .now <- change.at, .blocked <- tally[.blocked], .scheduled <- tally[.scheduled],
                .ready <- tally[.ready], .running <- tally[.running], .succeeded <- tally[.succeeded],
                .failed <- tally[.failed], .cancelled <- tally[.cancelled], .skipped <- tally[.skipped],
            ])
        }
        graphChanges.removeAll(keepingCapacity: true)
    }
}

extension Statement {
    func tally(from first: Int32) -> Tally {
        var tally = Tally()
        for state in JobState.allCases { tally[state] = integer(first + Int32(state.rawValue)) }
        return tally
    }
}

struct FlushStatements: StatementGroup {
    let setTally = Statement(
        """
        UPDATE tally
        SET    blocked = :blocked, scheduled = :scheduled, ready = :ready, running = :running,
               succeeded = :succeeded, failed = :failed, cancelled = :cancelled, skipped = :skipped,
               steady_ms = :steady
        WHERE  queue_id = :queue
        """)
    let setVersion = Statement("UPDATE meta SET settings_version = :version")
    let addToGraph = Statement(
        """
        UPDATE graph
        SET    blocked = blocked + :blocked, scheduled = scheduled + :scheduled, ready = ready + :ready,
               running = running + :running, succeeded = succeeded + :succeeded, failed = failed + :failed,
               cancelled = cancelled + :cancelled, skipped = skipped + :skipped,
               finished_ms = CASE
                   WHEN blocked + :blocked + scheduled + :scheduled + ready + :ready + running + :running = 0
                   THEN coalesce(finished_ms, :now)
               END
        WHERE  id = :graph
        """)
}
