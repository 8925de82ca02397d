import Jobs
import SQLite

extension Reader {
    func dependencies(of job: JobID, onlyOpen: Bool, limit: Int) throws(SQLiteError) -> Neighbours {
        try snapshot { () throws(SQLiteError) in
            neighbours.dependencyCounts.bind(1, job.rawValue)
            guard try neighbours.dependencyCounts.step() else { return Neighbours(jobs: [], count: 0) }
            let count = Int(neighbours.dependencyCounts.integer(onlyOpen ? 1 : 0))
            neighbours.dependencyCounts.reset()
            neighbours.dependencies.bind(1, job.rawValue)
            neighbours.dependencies.bind(2, onlyOpen ? 4 : 8)
            neighbours.dependencies.bind(3, limit)
            return Neighbours(jobs: try neighbours.dependencies.neighbours(), count: count)
        }
    }

    func dependents(of job: JobID, limit: Int) throws(SQLiteError) -> [Neighbour] {
        neighbours.dependents.bind(1, job.rawValue)
        neighbours.dependents.bind(2, limit)
        return try neighbours.dependents.neighbours()
    }

    /// Returns the wanted outputs of the job's succeeded dependencies, in declared order. Does not read the values of
    /// unwanted outputs.
    func outputs(
        ofDependenciesOf job: JobID, _ wanted: WantedOutputs, maxBytes: Int
    ) throws(SQLiteError) -> DependencyOutputs {
        var outputs: [DependencyOutput] = []
        var bytes = 0
        neighbours.outputs.bind(1, job.rawValue)
        defer { neighbours.outputs.reset() }
        while try neighbours.outputs.step() {
            let kind = neighbours.outputs.string(1)
            guard wanted.kinds?.contains(kind) ?? true, let output = neighbours.outputs.json(2) else { continue }
            bytes += output.bytes.count
            if bytes > maxBytes { return .tooLarge }
            outputs.append(
                DependencyOutput(dependency: JobID(neighbours.outputs.integer(0)), kind: kind, output: output))
            if wanted.onlyFirst { break }
        }
        return .found(outputs)
    }
}

extension Statement {
    fileprivate func neighbours() throws(SQLiteError) -> [Neighbour] {
        var found: [Neighbour] = []
        while try step() {
            found.append(
                Neighbour(
                    job: JobID(integer(0)), definition: string(1), node: optionalString(2),
                    state: JobState(rawValue: Int(integer(3))) ?? .blocked, condition: condition(4)))
        }
        return found
    }
}

struct NeighbourStatements: ~Copyable {
    static let dependencyCountsSQL: SQL = "SELECT dependencies, pending FROM job WHERE id = :job"
    static let dependenciesSQL: SQL = """
        SELECT     job.id, definition.name, job.node, job.state, dependency.condition
        FROM       dependency
        CROSS JOIN job ON job.id = dependency.dependency_id
        CROSS JOIN definition ON definition.id = job.definition_id
        WHERE      dependency.dependent_id = ?1
        AND        job.state < ?2
        ORDER BY   dependency.position
        LIMIT      ?3
        """
    static let dependentsSQL: SQL = """
        SELECT     dependent.id, definition.name, dependent.node, dependent.state, dependency.condition
        FROM       dependency INDEXED BY dependency_dependents
        CROSS JOIN job AS dependent ON dependent.id = dependency.dependent_id
        CROSS JOIN definition ON definition.id = dependent.definition_id
        WHERE      dependency.dependency_id = ?1
        LIMIT      ?2
        """
    static let outputsSQL: SQL = """
        SELECT     dependency.dependency_id, definition.kind, result.value
        FROM       dependency
        CROSS JOIN job ON job.id = dependency.dependency_id
        CROSS JOIN definition ON definition.id = job.definition_id
        CROSS JOIN result ON result.job_id = dependency.dependency_id
        WHERE      dependency.dependent_id = :job
        AND        result.outcome = 4
        ORDER BY   dependency.position
        """

    let dependencyCounts: Statement
    let dependencies: Statement
    let dependents: Statement
    let outputs: Statement

    init(_ connection: Connection) {
        dependencyCounts = connection.prepare(Self.dependencyCountsSQL)
        dependencies = connection.prepare(Self.dependenciesSQL)
        dependents = connection.prepare(Self.dependentsSQL)
        outputs = connection.prepare(Self.outputsSQL)
    }
}
