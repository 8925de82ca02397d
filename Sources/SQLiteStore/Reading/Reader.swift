import Jobs
import SQLite
import StoreParts

/// A connection that only reads, with its statements. Only its own thread uses it, for one short request at a time.
final class Reader {
    private let connection: Connection
    private let begin = Statement("BEGIN")
    private let end = Statement("COMMIT")
    private let rollBack = Statement("ROLLBACK")
    let records = RecordStatements()
    let neighbours = NeighbourStatements()
    let listings = ListingStatements()
    let graphs = GraphStatements()
    let definitions = DefinitionStatements()
    let schedules = ScheduleReads()
    let keys = KeyLookup()
    let unwrittenParts = UnwrittenStatements()
    let pruning = PrunableStatements()
    let holding = HolderReads()
    private let clock = ClockStatements()
    private let storeClock: any StoreClock
    /// The definitions that were read last. A revision never changes, except for its problem.
    var knownDefinitions: [DefinitionID: StoredDefinition] = [:]

    func releaseMemory() -> Int { connection.releaseMemory() }

    init(_ connection: Connection, clock storeClock: any StoreClock) throws(SQLiteError) {
        self.connection = connection
        self.storeClock = storeClock
        try connection.prepare(statementsOf: self)
    }

    /// The current time on the steady scale.
    func steadyNow() throws(SQLiteError) -> Int64 {
        var steady = SteadyClock(storeClock)
        try clock.read(into: &steady)
        steady.read()
        return steady.now
    }

    /// Runs `body` in a read transaction, so that all its statements see the same state of the database.
    func snapshot<Value>(_ body: () throws(SQLiteError) -> Value) throws(SQLiteError) -> Value {
        try begin.run()
        do throws(SQLiteError) {
            let value = try body()
            try end.run()
            return value
        } catch {
            connection.resetStatements()
            // Nothing was written. After some errors SQLite has already ended the transaction.
            if !connection.isAutocommit { try rollBack.run() }
            throw error
        }
    }
}
