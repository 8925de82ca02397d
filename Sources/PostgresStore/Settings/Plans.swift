import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Compiles all definitions and graph definitions again, and writes the plans that differ (E1).
    func writePlans() throws(PostgresError) {
        var set = DefinitionSet()
        set.kinds = try run(DefinitionReads.kinds).map { (row) throws(PostgresError) in try row.kindDescription() }
        set.queues = try run(Statements.queues).map { QueueSettings(name: $0.string(0)) }
        set.definitions = try run(DefinitionReads.all).map { $0.storedDefinition() }
        set.graphs = try run(DefinitionReads.graphs).map { $0.storedGraphDefinition() }
        let catalog = Jobs.Catalog(set)
        let (plans, kinds) = (catalog.compiled, catalog.compiledKinds)
        try run(
            Statements.write, .texts(plans.map(\.name)), .utf8s(plans.map(\.json.bytes)), .texts(plans.map(\.kind)),
            .texts(kinds.map(\.name)), .utf8s(kinds.map(\.json.bytes)), .time(time.steady.moment))
        mustWritePlans = false
    }

    private enum Statements {
        static let queues = Statement("SELECT name FROM halyard.queue WHERE removed_ms IS NULL")
        static let write = Statement(
            """
            SELECT halyard.write_plans($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint)
            """)
    }
}
