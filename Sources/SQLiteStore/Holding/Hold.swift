import FoundationEssentials
import Jobs
import SQLite

extension Writer {
    /// Begins a life. The lock on the database proves that the processes of all earlier lives have ended.
    func begin(_ holder: Holder, now: Timestamp) throws(SQLiteError) -> HolderLife {
        // The last number is in its own row and in the jobs of the lives before it.
        try holding.begin.run([
            .identity <- holder.identity, .name <- holder.name, .host <- holder.host, .version <- holder.version,
            .queues <- (try holder.queues.map(Self.encode)), .kinds <- (try holder.kinds.map(Self.encode)),
            .now <- now,
        ])
        let id = HolderID(connection.lastInsertedRow)
        try holding.forgetOthers.run([.holder <- id])
        unstored.holder = id
        holdersChanged = true
        return life(id)
    }

    /// The life of the current holder; nil if the life has ended.
    func renew(_ holder: HolderID) -> Renewal { unstored.holder == holder ? .renewed(life(holder)) : .ended }

    func leave(_ holder: HolderID, now: Timestamp) throws(SQLiteError) {
        guard unstored.holder == holder else { return }
        try holding.leave.run([.holder <- holder, .now <- now])
        unstored.holder = nil
        holdersChanged = true
    }

    /// Reads the running jobs of a holder, as they were claimed.
    func held(by holder: HolderID) throws(SQLiteError) -> [ClaimedJob] {
        var held: [ClaimedJob] = []
        for (id, running) in memory.running.sorted(by: { $0.key < $1.key }) where running.holder == holder {
            let job = try holding.job.first([.job <- id]) { (job: ReadyJob($0), input: $0.json(7)) }
            guard let (job, input) = job else { throw .damaged("job \(id) is running and does not exist") }
            held.append(
                ClaimedJob(
                    lease: Lease(job: id, attempt: running.attempt), definition: job.definition, graph: job.graph,
                    input: input, hasDependencies: job.hasDependencies, tries: job.tries,
                    checkpoint: try checkpoint(of: id), isSuspect: try wasSuspect(job)))
        }
        return held
    }

    /// Whether the job's last attempt before the running one, apart from interrupted ones, ended in a crash.
    private func wasSuspect(_ job: ReadyJob) throws(SQLiteError) -> Bool {
        try claiming.lastOutcome.first([.job <- job.id]) { $0.integer(0) } == Int64(AttemptOutcome.crashed.rawValue)
    }

    private func life(_ holder: HolderID) -> HolderLife {
        HolderLife(id: holder, hasOrphans: memory.running.values.contains { $0.holder != holder })
    }

    private static func encode(_ names: [String]) throws(SQLiteError) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(names), as: UTF8.self)
        } catch {
            throw SQLiteError(
                code: SQLiteError.Primary.mismatch.rawValue, message: "names cannot be encoded as JSON: \(error)")
        }
    }
}

/// The life that lasts unless its goodbye is stored.
enum LastingLife {
    case last
    case only(HolderID?)

    func includes(_ life: HolderID) -> Bool {
        switch self {
        case .last: true
        case .only(let own): life == own
        }
    }
}

extension Reader {
    /// - Parameter lasting: The life whose process runs. Other lives have ended at the last write, also those of processes
    ///   that died without a goodbye.
    func holders(lasting: LastingLife) throws(SQLiteError) -> [HolderRecord] {
        try snapshot { () throws(SQLiteError) in
            let kinds = try definitions.kinds.all { $0.string(0) }
            var running: [HolderID: [String: Int]] = [:]
            for (holder, queue, count) in try holding.running.all({
                (HolderID($0.integer(0)), $0.string(1), Int($0.integer(2)))
            }) {
                running[holder, default: [:]][queue] = count
            }
            return try holding.all.all { (row) throws(SQLiteError) in
                var record = try row.holder(kinds: kinds)
                record.runningByQueue = running[record.id] ?? [:]
                if record.endedAt == nil, !lasting.includes(record.id) {
                    record.seenAt = max(record.startedAt, row.timestamp(9))
                    record.endedAt = record.seenAt
                }
                return record
            }
        }
    }
}

extension Statement {
    /// Columns: id, identity, name, host, version, queues, kinds, started_ms, left_ms, last_ms.
    fileprivate func holder(kinds: [String]) throws(SQLiteError) -> HolderRecord {
        let holder = Holder(
            identity: string(1), name: string(2), host: string(3), version: string(4),
            queues: try names(5, "queues"), kinds: try names(6, "kinds"))
        return HolderRecord(
            id: HolderID(integer(0)), holder: holder, kinds: HolderRecord.kinds(kinds, servedBy: holder),
            startedAt: timestamp(7), seenAt: timestamp(7), aliveUntil: nil, endedAt: optionalTimestamp(8))
    }

    private func names(_ column: Int32, _ noun: String) throws(SQLiteError) -> [String]? {
        guard let bytes = bytes(column) else { return nil }
        do {
            return try JSONDecoder().decode([String].self, from: Data(bytes))
        } catch {
            throw .damaged("the \(noun) of the daemon \(string(2)) are invalid: \(error)")
        }
    }
}

struct HoldStatements: StatementGroup {
    let begin = Statement(
        """
        INSERT INTO daemon (id, identity, name, host, version, queues, kinds, started_ms)
        VALUES (1 + coalesce((SELECT max(id) FROM daemon), 0), :identity, :name, :host, :version, :queues, :kinds,
                :now)
        """)
    let forgetOthers = Statement("DELETE FROM daemon WHERE id <> :holder")
    let leave = Statement(
        """
        UPDATE daemon
        SET    left_ms = :now
        WHERE  id = :holder
        AND    left_ms IS NULL
        """)
    let job = Statement(
        """
        SELECT id, steady_ms, attempt, tries, definition_id, graph_id, dependencies,
               (SELECT input FROM job_input WHERE job_id = job.id)
        FROM   job
        WHERE  id = :job
        AND    state = \(JobState.running)
        """)
}

struct HolderReads: StatementGroup {
    let all = Statement(
        """
        SELECT   id, identity, name, host, version, queues, kinds, started_ms, left_ms,
                 (SELECT max(steady_ms) FROM tally) + (SELECT skew_ms FROM clock WHERE id = 1)
        FROM     daemon
        ORDER BY id
        """)
    let running = Statement(
        """
        SELECT   holder_id, queue.name, count(*)
        FROM     job INDEXED BY job_open
        JOIN     queue ON queue.id = job.queue_id
        WHERE    state < \(JobState.firstFinal)
        AND      state = \(JobState.running)
        AND      holder_id IS NOT NULL
        GROUP BY holder_id, queue_id
        """)
}
