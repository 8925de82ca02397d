import Jobs
import SQLite

extension Reader {
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) throws(SQLiteError) -> Neighbours {
        try snapshot { () throws(SQLiteError) in
            guard
                let count = try neighbours.dependencyCounts.first([.job <- job], { Int($0.integer(onlyOpen ? 1 : 0)) })
            else { return Neighbours(jobs: [], count: 0) }
            let jobs = try neighbours.dependencies.all([
                .job <- job, .states <- onlyOpen ? JobState.firstFinal.rawValue : JobState.allCases.count,
                .limit <- limit,
            ]) { Neighbour($0) }
            return Neighbours(jobs: jobs, count: count)
        }
    }

    func dependents(of job: JobID, limit: Int) throws(SQLiteError) -> [Neighbour] {
        try neighbours.dependents.all([.job <- job, .limit <- limit]) { Neighbour($0) }
    }

    /// Returns the wanted outputs of the job's succeeded dependencies, in declared order. Does not read the values of
    /// unwanted outputs.
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) throws(SQLiteError) -> DependencyOutputs {
        var outputs: [DependencyOutput] = []
        var bytes = 0
        try neighbours.outputs.bind([.job <- job])
        defer { neighbours.outputs.reset() }
        while try neighbours.outputs.step() {
            let kind = neighbours.outputs.string(1)
            guard wanted.kinds?.contains(kind) ?? true, let output = neighbours.outputs.json(2) else { continue }
            bytes += output.bytes.count
            if bytes > maxBytes { return .tooLarge }
            outputs.append(
                DependencyOutput(
                    dependency: neighbours.outputs.job(0), attempt: Int(neighbours.outputs.integer(3)),
                    node: neighbours.outputs.optionalString(4), kind: kind, output: output))
            if wanted.onlyFirst { break }
        }
        return .found(outputs)
    }
}

extension Neighbour {
    fileprivate init(_ row: Statement) {
        self.init(
            job: row.job(0), definition: row.string(1), node: row.optionalString(2),
            state: JobState(rawValue: Int(row.integer(3))) ?? .blocked, condition: row.condition(4))
    }
}

struct NeighbourStatements: StatementGroup {
    let dependencyCounts = Statement("SELECT dependencies, pending FROM job WHERE id = :job")
    let dependencies = Statement(
        """
        SELECT     job.id, definition.name, job.node, job.state, dependency.condition
        FROM       dependency
        CROSS JOIN job ON job.id = dependency.dependency_id
        CROSS JOIN definition ON definition.id = job.definition_id
        WHERE      dependency.dependent_id = :job
        AND        job.state < :states
        ORDER BY   dependency.position
        LIMIT      :limit
        """)
    let dependents = Statement(
        """
        SELECT     job.id, definition.name, job.node, job.state, dependency.condition
        FROM       dependency INDEXED BY dependency_dependents
        CROSS JOIN job ON job.id = dependency.dependent_id
        CROSS JOIN definition ON definition.id = job.definition_id
        WHERE      dependency.dependency_id = :job
        LIMIT      :limit
        """)
    let outputs = Statement(
        """
        SELECT     dependency.dependency_id, definition.kind, result.value, result.attempt, job.node
        FROM       dependency
        CROSS JOIN job ON job.id = dependency.dependency_id
        CROSS JOIN definition ON definition.id = job.definition_id
        CROSS JOIN result ON result.job_id = dependency.dependency_id
        WHERE      dependency.dependent_id = :job
        AND        result.outcome = \(Outcome.succeeded)
        ORDER BY   dependency.position
        """)
}
