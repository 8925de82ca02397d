import Jobs
import PostgreSQL

extension Reader {
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) throws(PostgresError) -> Neighbours {
        guard let counts = try run(Statements.counts, .job(job)).first else {
            return Neighbours(jobs: [], count: 0)
        }
        let below = onlyOpen ? JobState.succeeded.rawValue : JobState.allCases.count
        let jobs = try run(Statements.dependencies, .job(job), .integer(below), .integer(limit))
            .map { Neighbour($0) }
        return Neighbours(jobs: jobs, count: counts.int(onlyOpen ? 1 : 0))
    }

    func dependents(of job: JobID, limit: Int) throws(PostgresError) -> [Neighbour] {
        try run(Statements.dependents, .job(job), .integer(limit)).map { Neighbour($0) }
    }

    /// Returns the wanted outputs of the job's succeeded dependencies, in declared order. Does not read the values of
    /// unwanted outputs.
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) throws(PostgresError) -> DependencyOutputs {
        var found = try run(Statements.outputs, .job(job)).map { row in
            (job: row.job(1), kind: row.string(2), bytes: row.int(3), attempt: row.int(4), node: row.optionalString(5))
        }
        found = found.filter { wanted.kinds?.contains($0.kind) ?? true }
        if wanted.onlyFirst { found = Array(found.prefix(1)) }
        if found.reduce(0, { $0 + $1.bytes }) > maxBytes { return .tooLarge }
        var values: [JobID: JSONText] = [:]
        let (low, high) = Argument.bounds(found.map(\.job))
        try run(Statements.values, .jobs(found.map(\.job)), low, high).forEach { values[$0.job(0)] = $0.json(1) }
        return .found(
            found.compactMap { output in
                values[output.job].map {
                    DependencyOutput(
                        dependency: output.job, attempt: output.attempt, node: output.node, kind: output.kind,
                        output: $0)
                }
            })
    }

    private enum Statements {
        static let counts = Statement("SELECT dependencies, pending FROM halyard.record WHERE id = $1::bigint")
        static let dependencies = Statement(
            """
            SELECT     record.id, definition.name, record.node, record.state, dependency.condition
            FROM       halyard.dependency
            JOIN       halyard.record ON record.id = dependency.dependency
            JOIN       halyard.definition ON definition.id = record.definition
            WHERE      dependency.dependent = $1::bigint
            AND        record.state < $2::bigint
            ORDER BY   dependency.position
            LIMIT      $3::bigint
            """)
        static let dependents = Statement(
            """
            SELECT     record.id, definition.name, record.node, record.state, dependency.condition
            FROM       halyard.dependency
            JOIN       halyard.record ON record.id = dependency.dependent
            JOIN       halyard.definition ON definition.id = record.definition
            WHERE      dependency.dependency = $1::bigint
            ORDER BY   dependency.condition, dependency.dependent + 0, dependency.position
            LIMIT      $2::bigint
            """)
        static let outputs = Statement(
            """
            SELECT     dependency.position, dependency.dependency, definition.kind, octet_length(done.value),
                       done.attempt, job.node
            FROM       halyard.dependency
            JOIN       halyard.job ON job.id = dependency.dependency
            JOIN       halyard.definition ON definition.id = job.definition
            JOIN       halyard.done ON done.job = job.id
            WHERE      dependency.dependent = $1::bigint
            AND        done.outcome = \(Outcome.succeeded.rawValue)
            ORDER BY   dependency.position
            """)
        static let values = Statement(
            """
            SELECT job, value
            FROM   halyard.done
            WHERE  job = ANY ($1::bigint[])
            AND    job BETWEEN $2::bigint AND $3::bigint
            """)
    }
}

extension Neighbour {
    fileprivate init(_ row: Row) {
        self.init(
            job: row.job(0), definition: row.string(1), node: row.optionalString(2), state: row.state(3),
            condition: row.condition(4))
    }
}
