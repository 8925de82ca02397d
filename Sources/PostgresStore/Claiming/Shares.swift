import Jobs
import PostgreSQL
import StoreParts

/// The slots of a queue that this life and all others may fill.
struct QueueShare {
    var mine = 0
    var others = 0
    /// Whether another daemon waits for slots.
    var isWanted = false
    /// The number of other daemons with slots, or with a wish for some.
    var daemons = 0
    /// Whether this life has said that it wants more.
    var wants = false
}

extension Writer {
    /// How long a daemon's wish for slots counts. One that waits for slots claims again before it is over.
    private static let wishLength = Duration.seconds(20)

    /// Reads how the slots of all queues are divided between daemons, in one round trip with the next statement.
    func putOffShares() throws(PostgresError) -> Answer { try connection.putOff(Statements.read) }

    /// The shares of all queues in the answer to ``putOffShares()``.
    func shares(_ answer: Answer, _ holder: HolderID) -> [Int64: QueueShare] {
        var shares: [Int64: QueueShare] = [:]
        let since = time.steady.now - Self.wishLength.milliseconds
        answer.rows?.forEach { row in
            var share = shares[row.integer(0)] ?? QueueShare()
            let wants = row.optionalInteger(3).map { $0 >= since } ?? false
            if row.integer(1) == holder.rawValue {
                share.mine = row.int(2)
                share.wants = wants
            } else {
                share.others += row.int(2)
                if wants || row.int(2) > 0 { share.daemons += 1 }
                share.isWanted = share.isWanted || wants
            }
            shares[row.integer(0)] = share
        }
        return shares
    }

    /// The number of jobs that this life may start in a queue now. Takes more slots of the queue's limit if it has too
    /// few, and gives some back if another daemon waits for them, or if the limit per daemon was lowered.
    func claimable(
        _ queue: Int64, _ share: QueueShare?, slots: Int, _ holder: HolderID
    ) throws(PostgresError) -> Int {
        guard let settings = known.queues[queue]?.settings else { return 0 }
        var share = share ?? QueueShare()
        let running = memory.running[holder]?[queue] ?? 0
        // While another daemon waits for slots, none keeps more than its part.
        let fair = share.isWanted ? (settings.limit + share.daemons) / (share.daemons + 1) : settings.limit
        let part = min(fair, settings.mostPerDaemon)
        let wanted = min(running + slots, part)
        // The limit was lowered: whoever looks first gives up what is too much.
        if share.mine + share.others > settings.limit, share.mine > running {
            share.mine = try takeSlots(of: queue, upTo: wanted, running: running, holder)
        }
        if share.mine > max(running, part) {
            share.mine = max(running, part)
            try run(Statements.give, .integer(queue), .integer(holder.rawValue), .integer(share.mine))
        } else if share.mine < wanted {
            if share.mine + share.others < settings.limit || !share.wants {
                share.mine = try takeSlots(of: queue, upTo: wanted, running: running, holder)
            }
            if share.mine < wanted, share.others > 0, try reclaimUnused(of: queue, holder) {
                share.mine = try takeSlots(of: queue, upTo: wanted, running: running, holder)
            }
            share.others = min(share.others, settings.limit - share.mine)
        }
        // A limit that was lowered counts at once.
        return max(0, min(share.mine, settings.limit - share.others) - running)
    }

    /// Takes slots that nobody has. Locks the queue, so that two daemons do not take the same ones. Keeps those of the
    /// running jobs even if there are more than the limit.
    ///
    /// - Returns: The number of slots that this life has now.
    private func takeSlots(
        of queue: Int64, upTo wanted: Int, running: Int, _ holder: HolderID
    ) throws(PostgresError) -> Int {
        try run(Statements.lock, .integer(queue))
        let row = try run(
            Statements.take, .integer(queue), .integer(holder.rawValue), .integer(wanted), .integer(time.steady.now),
            .integer(running)
        ).first
        return row?.int(0) ?? 0
    }

    /// Takes back the slots that other daemons hold and do not use, such as those of a daemon that has nothing to do.
    /// Skips a daemon with an exchange under way, which may be using its slots: every exchange holds the lock of its life.
    ///
    /// - Returns: Whether any were taken back.
    private func reclaimUnused(of queue: Int64, _ holder: HolderID) throws(PostgresError) -> Bool {
        let now = ContinuousClock.now
        let last = memory.reclaims[queue]
        if let last, now < last.at + last.pause { return false }
        // The locks come first: the snapshot of a statement that takes them is older than what they wait for.
        let idle = try run(Statements.lockIdle, .integer(queue), .integer(holder.rawValue)).map { $0.integer(0) }
        let changed = idle.isEmpty ? 0 : try run(Statements.reclaim, .integer(queue), .integers(idle)).changes
        // While all slots are in use, looking again soon would find nothing.
        let pause = changed > 0 ? Self.firstPause : min((last?.pause ?? Self.firstPause) * 2, Self.longestPause)
        memory.reclaims[queue] = (now, pause)
        return changed > 0
    }

    private static let firstPause = Duration.milliseconds(20)
    private static let longestPause = Duration.seconds(2)

    /// Leaves a life that has ended only as many slots as it still has running jobs.
    func releaseShares(of holder: HolderID) throws(PostgresError) {
        try run(Statements.release, .integer(holder.rawValue))
        try run(Statements.keep, .integer(holder.rawValue))
    }

    private enum Statements {
        static let read = Statement("SELECT queue, daemon, slots, wants_ms FROM halyard.share")
        static let give = Statement(
            """
            UPDATE halyard.share
            SET    slots = $3::bigint, wants_ms = NULL
            WHERE  queue = $1::bigint
            AND    daemon = $2::bigint
            """)
        static let lock = Statement("SELECT 1 FROM halyard.queue WHERE id = $1::bigint FOR NO KEY UPDATE")
        static let take = Statement(
            """
            INSERT INTO halyard.share (queue, daemon, slots, wants_ms)
            SELECT queue.id, $2::bigint, given.slots, CASE WHEN given.slots < $3::bigint THEN $4::bigint END
            FROM   halyard.queue
            CROSS JOIN LATERAL (
                SELECT greatest($5::bigint,
                                least($3::bigint, queue."limit"
                                                  - coalesce(sum(slots) FILTER (WHERE daemon <> $2::bigint), 0)))
                       ::bigint AS slots
                FROM   halyard.share
                WHERE  share.queue = queue.id) AS given
            WHERE  queue.id = $1::bigint
            ON CONFLICT (queue, daemon) DO UPDATE
            SET    slots = excluded.slots, wants_ms = excluded.wants_ms
            RETURNING slots
            """)
        static let lockIdle = Statement(
            """
            SELECT daemon
            FROM   (SELECT daemon
                    FROM   halyard.share
                    WHERE  queue = $1::bigint
                    AND    daemon <> $2::bigint
                    AND    slots > 0
                    OFFSET 0) AS other
            WHERE  pg_try_advisory_xact_lock(\(AdvisoryLock.life), daemon::integer)
            """)
        static let reclaim = Statement(
            """
            WITH used AS MATERIALIZED (
                SELECT   running.daemon, count(*) AS slots
                FROM     halyard.running
                JOIN     halyard.lane ON lane.id = running.lane
                WHERE    running.daemon = ANY ($2::bigint[])
                AND      lane.queue = $1::bigint
                GROUP BY running.daemon
            )
            UPDATE halyard.share
            SET    slots = coalesce(used.slots, 0)
            FROM   unnest($2::bigint[]) AS idle (daemon)
            LEFT JOIN used ON used.daemon = idle.daemon
            WHERE  share.queue = $1::bigint
            AND    share.daemon = idle.daemon
            AND    share.slots > coalesce(used.slots, 0)
            """)
        static let release = Statement("DELETE FROM halyard.share WHERE daemon = $1::bigint")
        static let keep = Statement(
            """
            INSERT INTO halyard.share (queue, daemon, slots)
            SELECT   lane.queue, running.daemon, count(*)
            FROM     halyard.running
            JOIN     halyard.lane ON lane.id = running.lane
            WHERE    running.daemon = $1::bigint
            GROUP BY lane.queue, running.daemon
            """)
    }
}
