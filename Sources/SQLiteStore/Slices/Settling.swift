import Jobs
import SQLite

/// A final job whose dependents are being released or skipped. The transaction that ends the job settles up to
/// ``Writer/rowsPerSlice`` of them. Slices settle the rest, starting after the edge that the job's row in table
/// `settling` names.
///
/// Invariants:
/// - S1: a dependent is released only after the result it waits for is durable (P4): the slices come after that commit.
/// - S2: each edge is settled once: the dependency's row names the last settled edge, in the order of the index.
/// - S3: an edge that is written while its dependency is being settled counts as pending if a later slice will reach it,
///   and as settled otherwise.
struct SettlingJob {
    let job: JobID
    let outcome: Outcome
    /// When the job became final.
    let at: Timestamp
    /// The last edge that was settled.
    var last = EdgeKey.beforeAll
}

/// The position of an edge among the edges to one dependency, in the order of `dependency_dependents`.
struct EdgeKey: Comparable {
    let condition: Int
    let dependent: JobID
    let position: Int

    static let beforeAll = EdgeKey(condition: -1, dependent: JobID(0), position: 0)

    static func < (a: EdgeKey, b: EdgeKey) -> Bool {
        (a.condition, a.dependent, a.position) < (b.condition, b.dependent, b.position)
    }
}

extension EdgeKey {
    /// Reads a key from three columns.
    init(_ row: Statement, from first: Int32) {
        self.init(
            condition: Int(row.integer(first)), dependent: row.job(first + 1), position: Int(row.integer(first + 2)))
    }
}

extension Writer {
    /// The outcome of a dependency as one edge sees it; nil while the edge counts as pending (S3).
    func settledOutcome(of job: JobID, for edge: EdgeKey) throws(SQLiteError) -> Outcome? {
        if let settling = memory.settling[job], settling.last < edge { return nil }
        return try dependencyState(of: job)??.outcome
    }

    /// The state of a job that is to become a dependency. Nil if there is no such job, or if it is about to be deleted.
    func dependencyState(of job: JobID) throws(SQLiteError) -> JobState?? {
        let found = try enqueueing.stateOf.first([.job <- job]) {
            (state: JobState(rawValue: Int($0.integer(0))), graph: $0.graph(1))
        }
        guard let found else { return JobState??.none }
        if let graph = found.graph, memory.pruning[graph] != nil { return JobState??.none }
        return .some(found.state)
    }

    /// Leaves the edges that did not fit into this transaction to later slices.
    func postpone(_ jobs: [SettlingJob]) throws(SQLiteError) {
        for dependency in jobs {
            try settling.keep.run([
                .job <- dependency.job, .outcome <- dependency.outcome, .now <- dependency.at,
                .condition <- dependency.last.condition, .dependent <- dependency.last.dependent,
                .position <- dependency.last.position,
            ])
            memory.settling[dependency.job] = dependency
            open(.settling(dependency.job))
        }
    }

    /// - Returns: Whether there are more dependents to settle.
    func resumeSettling(_ job: JobID) throws(SQLiteError) -> Bool {
        guard let dependency = memory.settling[job] else { return false }
        memory.settling[job] = nil
        try settle([dependency])
        // `settle` postponed the job again, at a later edge, if the slice was full.
        if memory.settling[job] != nil { return true }
        try settling.forget.run([.job <- job])
        return false
    }
}
