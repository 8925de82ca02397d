import Jobs
import SQLite

extension Writer {
    /// Writes the counts and the clock's row if the transaction changed them. Nothing may change between this and
    /// ``commit()``.
    func flush() throws(SQLiteError) {
        for index in memory.changedTallies {
            let queue = memory.queues[index]
            flushing.setTally.bind(1, queue.id)
            flushing.setTally.bind(counts: queue.tally, from: 2)
            flushing.setTally.bind(10, steady.now)
            try flushing.setTally.run()
        }
        memory.talliesAreWritten()
        if let change = steady.takeChange() { try clock.write(change) }
        for (graph, change) in graphChanges where !change.tally.isZero {
            flushing.addToGraph.bind(1, graph.rawValue)
            flushing.addToGraph.bind(2, change.at.milliseconds)
            flushing.addToGraph.bind(counts: change.tally, from: 3)
            try flushing.addToGraph.run()
        }
        graphChanges.removeAll(keepingCapacity: true)
    }
}

extension Statement {
    func bind(counts: Tally, from first: Int32) {
        for state in JobState.allCases { bind(first + Int32(state.rawValue), counts[state]) }
    }

    func tally(from first: Int32) -> Tally {
        var tally = Tally()
        for state in JobState.allCases { tally[state] = integer(first + Int32(state.rawValue)) }
        return tally
    }
}

struct FlushStatements: ~Copyable {
    static let setTallySQL: SQL = """
        UPDATE tally
        SET    blocked = ?2, scheduled = ?3, ready = ?4, running = ?5,
               succeeded = ?6, failed = ?7, cancelled = ?8, skipped = ?9, steady_ms = ?10
        WHERE  queue_id = ?1
        """
    static let addToGraphSQL: SQL = """
        UPDATE graph
        SET    blocked = blocked + ?3, scheduled = scheduled + ?4, ready = ready + ?5, running = running + ?6,
               succeeded = succeeded + ?7, failed = failed + ?8, cancelled = cancelled + ?9, skipped = skipped + ?10,
               finished_ms = CASE
                   WHEN blocked + ?3 + scheduled + ?4 + ready + ?5 + running + ?6 = 0 THEN coalesce(finished_ms, ?2)
               END
        WHERE  id = ?1
        """

    let setTally: Statement
    let addToGraph: Statement

    init(_ connection: Connection) {
        setTally = connection.prepare(Self.setTallySQL)
        addToGraph = connection.prepare(Self.addToGraphSQL)
    }
}
