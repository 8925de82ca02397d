import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Releases or skips the dependents of jobs that are now final, and in turn the dependents of the skipped jobs: one
    /// round of statements for each level of the graph, however many jobs it has.
    func settle(_ jobs: [FinalJob], now: Timestamp) throws(PostgresError) {
        // Without a failure, one statement locks all dependents.
        if jobs.contains(where: { $0.outcome != .succeeded }) { try lockDependents(of: jobs) }
        var settled = jobs
        while !settled.isEmpty {
            let edges = try edges(to: settled)
            let met = edges.filter { $0.condition.isMet(by: $0.outcome) }
            let failed = edges.filter { !$0.condition.isMet(by: $0.outcome) }
            settled = try skip(failed, now: now)
            try unblock(met, now: now)
        }
    }

    /// Locks the blocked jobs that the ends of jobs may release or skip, all at once and in one order. Otherwise two
    /// transactions that settle jobs of the same graphs could lock them level by level in opposite orders.
    ///
    /// - Parameters:
    ///   - jobs: The jobs that are final, or will be in this transaction.
    ///   - others: Other blocked jobs that this transaction needs.
    func lockDependents(of jobs: [FinalJob], and others: Set<JobID> = []) throws(PostgresError) {
        var found = others
        var level = jobs
        while !level.isEmpty {
            let edges = try edges(to: level)
            // Jobs that will be skipped, if they are still blocked.
            let skipped = edges.filter { !$0.condition.isMet(by: $0.outcome) && !found.contains($0.dependent) }
            found.formUnion(edges.map(\.dependent))
            level = Set(skipped.map(\.dependent)).map { FinalJob(job: $0, outcome: .skipped) }
        }
        if !found.isEmpty { try run(Statements.lock, .jobs(found.sorted())) }
    }

    private struct Edge {
        var dependency: JobID
        var outcome: Outcome
        var condition: DependencyCondition
        var dependent: JobID
        /// The identity of the daemon that keeps the dependency's result, if that is a file.
        var home: String?
    }

    private func edges(to jobs: [FinalJob]) throws(PostgresError) -> [Edge] {
        let outcomes = Dictionary(jobs.map { ($0.job, $0.outcome) }, uniquingKeysWith: { first, _ in first })
        let homes = Dictionary(
            jobs.compactMap { job in job.home.map { (job.job, $0) } }, uniquingKeysWith: { first, _ in first })
        // The server process may not know the partition of a dependent yet whose transaction it has just waited for
        // (N7).
        try putOff(Statements.learnOfRanges)
        // A job depends only on older jobs and on jobs of its own graph.
        let oldest = Argument.integer(jobs.map(\.job.rawValue).min().map { $0 - Int64(Submission.maxJobs) })
        let edges = try run(Statements.edges, .jobs(jobs.map(\.job)), oldest, oldest).map { row in
            Edge(
                dependency: row.job(0), outcome: outcomes[row.job(0)] ?? .failed, condition: row.condition(1),
                dependent: row.job(2), home: homes[row.job(0)])
        }
        // The first unmet edge of a job is the cause of its skip.
        return edges.sorted {
            ($0.dependency, $0.condition.rawValue, $0.dependent) < ($1.dependency, $1.condition.rawValue, $1.dependent)
        }
    }

    /// Removes pending dependencies from blocked jobs, and moves the jobs on that have no more.
    private func unblock(_ edges: [Edge], now: Timestamp) throws(PostgresError) {
        if edges.isEmpty { return }
        let counts = edges.reduce(into: [JobID: Int64]()) { $0[$1.dependent, default: 0] += 1 }
        // In one order, so that two transactions that release the same jobs do not wait for each other.
        let jobs = counts.keys.sorted()
        let rows = try run(Statements.lock, .jobs(jobs))
        var pending: [JobID: (row: OpenRow, pending: Int64)] = [:]
        rows.forEach { pending[$0.job(0)] = (OpenRow($0), $0.integer(9)) }
        var bound: [(job: JobID, lane: Int64)] = []
        for edge in edges {
            guard let home = edge.home, let row = pending[edge.dependent]?.row,
                let lane = try bind(row.lane, to: home)
            else { continue }
            pending[edge.dependent]?.row.lane = lane
            bound.append((edge.dependent, lane))
        }
        // A job that is missing was skipped or cancelled.
        var released: [OpenRow] = []
        var reduced: [(job: JobID, by: Int64)] = []
        for job in jobs {
            guard let found = pending[job], let count = counts[job] else { continue }
            if found.pending > count { reduced.append((job, count)) } else { released.append(found.row) }
        }
        if !reduced.isEmpty {
            try putOff(Statements.reduce, .jobs(reduced.map(\.job)), .integers(reduced.map(\.by)))
        }
        let waiting = Set(reduced.map(\.job))
        bound.removeAll { !waiting.contains($0.job) }
        if !bound.isEmpty { try putOff(Statements.bind, .jobs(bound.map(\.job)), .integers(bound.map(\.lane))) }
        try release(released, now: now)
    }

    /// The lane for jobs of this lane that read a file which only one daemon has. Nil if the lane stays: its kind reads no
    /// files, or its jobs already need a file of a daemon.
    private func bind(_ number: Int64, to home: String) throws(PostgresError) -> Int64? {
        var lane = try lane(number)
        guard lane.home == nil, try readsFiles(lane.kind) else { return nil }
        lane.home = home
        return try self.number(of: lane)
    }

    private func release(_ rows: [OpenRow], now: Timestamp) throws(PostgresError) {
        if rows.isEmpty { return }
        try putOff(Statements.delete, .jobs(rows.map(\.job)))
        var ready: [OpenRow] = []
        var scheduled: [OpenRow] = []
        for var row in rows {
            let isDue = row.steadyAt.map { $0 <= time.steady.moment } ?? row.dueAt.map { $0 <= now } ?? true
            let endsAt = isDue ? nil : row.steadyAt.map { time.steady.wallTime(ofWaitEnd: $0) } ?? row.dueAt
            let state: JobState = isDue ? .ready : .scheduled
            if isDue {
                row.dueAt = now
                row.steadyAt = time.steady.moment
                ready.append(row)
            } else {
                scheduled.append(row)
            }
            count(queue: try lane(row.lane).queue, graph: row.graph, from: .blocked, to: state, now: now)
            note(row.job, graph: row.graph, state: state, attempt: 0, dueAt: endsAt)
        }
        try makeReady(ready)
        try schedule(scheduled)
    }

    /// Skips the jobs that can no longer run.
    ///
    /// - Returns: The jobs that were still blocked and are skipped now.
    private func skip(_ edges: [Edge], now: Timestamp) throws(PostgresError) -> [FinalJob] {
        if edges.isEmpty { return [] }
        var causes: [JobID: Edge] = [:]
        for edge in edges where causes[edge.dependent] == nil { causes[edge.dependent] = edge }
        let rows = try run(Statements.lock, .jobs(causes.keys.sorted()))
        if rows.count == 0 { return [] }
        try putOff(Statements.delete, .jobs(rows.map { $0.job(0) }))
        let skipped = rows.map { row in
            let cause = causes[row.job(0)]!
            return SkippedJob(
                row: OpenRow(row), pending: row.int(9), because: cause.dependency, outcome: cause.outcome)
        }
        for job in skipped {
            count(queue: try lane(job.row.lane).queue, graph: job.row.graph, from: .blocked, to: .skipped, now: now)
            note(job.row.job, graph: job.row.graph, state: .skipped, attempt: 0, cause: .dependency(job.because))
        }
        try recordSkips(skipped, now: now)
        return skipped.map { FinalJob(job: $0.row.job, outcome: .skipped) }
    }

    /// Records the results of skipped jobs. Each names the dependency, and the job that caused the first skip.
    func recordSkips(_ jobs: [SkippedJob], now: Timestamp) throws(PostgresError) {
        // A job of the same graph may be skipped because of another one, so they are recorded level by level.
        var rest = jobs
        while !rest.isEmpty {
            let open = Set(rest.map(\.row.job))
            let level = rest.filter { !open.contains($0.because) }
            if level.isEmpty { return try recordSkipLevel(rest, now: now) }
            rest.removeAll { !open.contains($0.because) }
            try recordSkipLevel(level, now: now)
        }
    }

    private func recordSkipLevel(_ jobs: [SkippedJob], now: Timestamp) throws(PostgresError) {
        var culprits: [JobID: (name: String, first: Culprit?)] = [:]
        let causes = Set(jobs.map(\.because)).sorted()
        let (low, high) = Argument.bounds(causes)
        try run(Statements.culprits, .jobs(causes), low, high).forEach { row in
            let detail = row.json(2).flatMap(JSONObject.init)
            culprits[row.job(0)] = (row.string(1), detail.flatMap(Culprit.init(json:)))
        }
        try recordDone(
            jobs.map { job in
                let found = culprits[job.because]
                let culprit = Culprit(job: job.because, name: found?.name ?? "", outcome: job.outcome)
                // The result of a skipped dependency names the job that caused the first skip.
                let first = job.outcome == .skipped ? found?.first : nil
                return DoneRow(
                    job.row, .skipped, attempt: 0, pending: job.pending, value: nil,
                    failure: .dependency(culprit, first: first ?? culprit), cancelAt: nil)
            }, now: now)
    }

    private enum Statements {
        /// Takes a lock that the transaction does not have, so that its process learns of new partitions.
        static let learnOfRanges = Statement("SELECT pg_relation_size('halyard.schema_version')")
        /// The second condition selects partitions. It is a disjunction, so that the server does not search an index
        /// with it: a search by dependents would read all later edges.
        static let edges = Statement(
            """
            SELECT dependency, condition, dependent
            FROM   halyard.dependency
            WHERE  dependency = ANY ($1::bigint[])
            AND    (dependent >= $2::bigint OR dependent >= $3::bigint)
            """)
        static let lock = Statement(
            """
            SELECT   \(OpenRow.columns), pending
            FROM     halyard.blocked
            WHERE    job = ANY ($1::bigint[])
            ORDER BY job
            FOR UPDATE
            """)
        /// The jobs are sorted.
        static let reduce = Statement(
            """
            UPDATE halyard.blocked
            SET    pending = pending - ($2::bigint[])[width_bucket(job, $1::bigint[])]
            WHERE  job = ANY ($1::bigint[])
            """)
        static let bind = Statement(
            """
            UPDATE halyard.blocked
            SET    lane = new.lane
            FROM   unnest($1::bigint[], $2::bigint[]) AS new (job, lane)
            WHERE  blocked.job = new.job
            """)
        static let delete = Statement("DELETE FROM halyard.blocked WHERE job = ANY ($1::bigint[])")
        static let culprits = Statement(
            """
            SELECT    job.id, coalesce(job.node, definition.name), done.detail
            FROM      halyard.job
            JOIN      halyard.definition ON definition.id = job.definition
            LEFT JOIN halyard.done ON done.job = job.id AND done.outcome = \(Outcome.skipped.rawValue)
                                   AND done.job BETWEEN $2::bigint AND $3::bigint
            WHERE     job.id = ANY ($1::bigint[])
            AND       job.id BETWEEN $2::bigint AND $3::bigint
            """)
    }
}

extension Culprit {
    /// Reads ``json``; nil if the object is another one.
    fileprivate init?(json object: JSONObject) {
        guard let job = object["job"].flatMap({ Int64($0.string) }), let name = object["name"]?.decodedString,
            let outcome = object["outcome"]?.decodedString.flatMap({ Outcome(name: $0) })
        else { return nil }
        self.init(job: JobID(job), name: name, outcome: outcome)
    }
}
