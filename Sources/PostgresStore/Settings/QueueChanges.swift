import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Locks the settings, so that checks before a change hold until its commit, and reads what has changed.
    ///
    /// - Returns: False if they are not those of the version.
    func lockSettings(_ version: SettingsVersion? = nil) throws(PostgresError) -> Bool {
        let current = try run(Statements.lock).first?.integer(0) ?? 0
        try readCatalog(version: current)
        return version.map { $0.rawValue == current } ?? true
    }

    /// Begins a new version of the settings, and reads it.
    @discardableResult
    func nextVersion() throws(PostgresError) -> SettingsVersion {
        let version = try run(Statements.nextVersion).first?.integer(0) ?? 0
        try readCatalog(version: version)
        return SettingsVersion(version)
    }

    func change(
        _ change: QueueChange, checkedAt version: SettingsVersion?, now passed: Timestamp
    ) throws(PostgresError) -> ChangeOutcome<QueueRecord> {
        guard try lockSettings(version) else { return .outdated }
        let id = try self.change(change, now: time.now(passed))
        if queuesChanged { try nextVersion() }
        guard let queue = known.queues[id] else {
            throw PostgresError(.unexpected, message: "a queue was neither created nor found")
        }
        let counts = try run(Statements.counts, .integer(-id)).first?.counts(from: 0) ?? StateCounts()
        // The transaction writes its own changes to the counts at its end.
        return .changed(QueueRecord(settings: queue.settings, pausedAt: queue.pausedAt, counts: counts))
    }

    /// Creates or changes a queue.
    ///
    /// - Returns: The queue's number. If the queue has changed, the caller begins a new version.
    func change(_ change: QueueChange, now: Timestamp) throws(PostgresError) -> Int64 {
        let id =
            if let known = known.queueByName[change.name] { known } else { try makeQueue(named: change.name) }
        guard let old = known.queues[id] else { return id }
        var queue = old
        queue.settings.apply(change)
        if let isPaused = change.isPaused {
            // A queue that is already paused keeps the time of its first pause.
            queue.pausedAt = isPaused ? queue.pausedAt ?? now : nil
        }
        if queue.settings != old.settings || queue.pausedAt != old.pausedAt {
            try run(
                Statements.update, .integer(id), .integer(queue.settings.limit), .integer(queue.settings.weight),
                .time(queue.pausedAt), .integer(queue.settings.limitPerDaemon))
            catalog?.queues[id] = queue
            queuesChanged = true
        }
        return id
    }

    /// Creates the queues that child jobs name, up to the limit of queues. The code of an operation, or an earlier
    /// plan, may name a queue that was removed or never existed. Its success must not be lost because of that.
    func makeQueues(of children: [NewGraph]) throws(PostgresError) {
        let names = Set(children.flatMap { $0.jobs.map(\.queue) }).filter { known.queueByName[$0] == nil }
        if names.isEmpty { return }
        _ = try lockSettings()
        for name in names.sorted()
        where known.queueByName[name] == nil && known.queueByName.count < QueueSettings.maxCount {
            _ = try makeQueue(named: name)
        }
        if queuesChanged { try nextVersion() }
    }

    /// Creates a queue with default settings. Reuses the row of a removed queue with this name, whose final jobs stay
    /// with it.
    private func makeQueue(named name: String) throws(PostgresError) -> Int64 {
        let new = QueueSettings(name: name)
        let row = try run(Statements.make, .text(name), .integer(new.limit), .integer(new.weight)).first
        guard let id = row?.integer(0) else {
            throw PostgresError(.unexpected, message: "a queue was not inserted")
        }
        catalog?.queues[id] = Catalog.Queue(settings: new, pausedAt: nil, isRemoved: false)
        catalog?.queueByName[name] = id
        memory.shares.forget(Int(id))
        queuesChanged = true
        mustWritePlans = true
        return id
    }

    func removeQueue(_ name: String, now passed: Timestamp) throws(PostgresError) -> QueueRemoval {
        // The transaction has waited for those that add jobs, and keeps others from adding some to the queue.
        _ = try lockSettings()
        guard name != QueueSettings.defaultName, let id = known.queueByName[name] else { return .unknown }
        try writeTallies()
        tallies.removeAll(keepingCapacity: true)
        let counts = try run(Statements.counts, .integer(-id)).first?.counts(from: 0) ?? StateCounts()
        var users = QueueUsers(openJobs: counts.open)
        try run(Statements.users, .text(name)).forEach { row in
            switch row.string(0) {
            case "definition": users.definitions.append(row.string(1))
            case "graph": users.graphs.append(row.string(1))
            default: users.schedules.append(row.string(1))
            }
        }
        guard users.isEmpty else { return .used(users) }
        try run(Statements.remove, .integer(id), .time(time.now(passed)))
        queuesChanged = true
        mustWritePlans = true
        try nextVersion()
        return .removed
    }

    private enum Statements {
        static let lock = Statement("SELECT version FROM halyard.settings WHERE id = 1 FOR UPDATE")
        static let nextVersion = Statement(
            "UPDATE halyard.settings SET version = version + 1 WHERE id = 1 RETURNING version")
        static let counts = Statement(
            """
            SELECT blocked, scheduled, ready, running, succeeded, failed, cancelled, skipped
            FROM   halyard.tally($1::bigint)
            """)
        static let update = Statement(
            """
            UPDATE halyard.queue
            SET    "limit" = $2::bigint, weight = $3::bigint, paused_ms = $4::bigint, limit_per_daemon = $5::bigint
            WHERE  id = $1::bigint
            """)
        static let make = Statement(
            """
            INSERT INTO halyard.queue (name, "limit", weight)
            VALUES ($1::text, $2::bigint, $3::bigint)
            ON CONFLICT (name) DO UPDATE
            SET    "limit" = excluded."limit", limit_per_daemon = NULL, weight = excluded.weight, paused_ms = NULL,
                   removed_ms = NULL
            RETURNING id
            """)
        static let users = Statement(
            """
            SELECT   'definition', name
            FROM     halyard.definition
            WHERE    queue = $1::text
            AND      replaced_ms IS NULL
            UNION ALL
            SELECT   'graph', name
            FROM     halyard.graph_definition
            WHERE    replaced_ms IS NULL
            AND      EXISTS (SELECT 1
                             FROM   json_array_elements(body::json -> 'nodes') AS node
                             WHERE  node ->> 'queue' = $1::text)
            UNION ALL
            SELECT   'schedule', name
            FROM     halyard.schedule
            WHERE    body::json ->> 'queue' = $1::text
            ORDER BY 1, 2
            """)
        static let remove = Statement(
            "UPDATE halyard.queue SET removed_ms = $2::bigint WHERE id = $1::bigint AND removed_ms IS NULL")
    }
}
