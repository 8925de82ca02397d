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
    let job: Int64
    let position: Int

    init(condition: DependencyCondition, job: JobID, position: Int) {
        self.init(condition: condition.rawValue, job: job.rawValue, position: position)
    }

    init(condition: Int, job: Int64, position: Int) {
        self.condition = condition
        self.job = job
        self.position = position
    }

    static let beforeAll = EdgeKey(condition: -1, job: 0, position: 0)

    static func < (a: EdgeKey, b: EdgeKey) -> Bool {
        (a.condition, a.job, a.position) < (b.condition, b.job, b.position)
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
        enqueueing.stateOf.bind(1, job.rawValue)
        guard try enqueueing.stateOf.step() else { return JobState??.none }
        let state = JobState(rawValue: Int(enqueueing.stateOf.integer(0)))
        let graph = enqueueing.stateOf.optionalInteger(1).map(GraphID.init(_:))
        enqueueing.stateOf.reset()
        if let graph, memory.pruning[graph] != nil { return JobState??.none }
        return .some(state)
    }

    /// Leaves the edges that did not fit into this transaction to later slices.
    func postpone(_ jobs: [SettlingJob]) throws(SQLiteError) {
        for dependency in jobs {
            settling.keep.bind(1, dependency.job.rawValue)
            settling.keep.bind(2, dependency.outcome.rawValue)
            settling.keep.bind(3, dependency.at.milliseconds)
            settling.keep.bind(4, dependency.last.condition)
            settling.keep.bind(5, dependency.last.job)
            settling.keep.bind(6, dependency.last.position)
            try settling.keep.run()
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
        settling.forget.bind(1, job.rawValue)
        try settling.forget.run()
        return false
    }
}
