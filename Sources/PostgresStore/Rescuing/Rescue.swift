import Jobs
import PostgreSQL
import StoreParts

extension Writer {
    /// Ends the attempts of lives that have ended (H2). Puts on trial the jobs that were running in several crashes in a
    /// row (P14).
    ///
    /// - Returns: Nil if the holder's own life has ended.
    func rescue(
        _ request: RescueRequest, by holder: HolderID, now passed: Timestamp
    ) throws(PostgresError) -> RescueReport? {
        let now = time.now(passed)
        var report = RescueReport(returned: [], failed: [], cancelled: [])
        // A holder whose life has ended must not return the jobs of the one after it.
        guard try isAlive(holder) else { return nil }
        var suspects: [(CrashTrials.Trial, Timestamp)] = []
        // A rescue that another holder has begun must commit first: when this one returns, its own earlier lives have no
        // jobs.
        try run(Statements.lockOwn, .integer(holder.rawValue))
        let lives = try run(Statements.ended, .integer(holder.rawValue), .time(now), lifeClock).map { EndedLife($0) }
        let ownLapse = lives.filter { $0.isLapse(request, boot: boot) }.map(\.lastedUntil).max()
        for life in lives {
            // An exchange that began before the life ended must end first; otherwise its jobs would be missed. One life
            // that cannot be rescued yet does not hold up the others; the next rescue takes it.
            guard try excludeTransactions(of: life.id, mustWait: life.isOwn) else { continue }
            let lastEnd = life.lastEnd(request, boot: boot, beside: ownLapse, options.lifeLength)
            suspects += try rescue(life, after: lastEnd, request, into: &report, now: now)
            try run(Statements.rescued, .integer(life.id.rawValue), .time(now))
            memory.running[life.id] = nil
        }
        if !suspects.isEmpty { memory.trials = CrashTrials(suspects) }
        if !lives.isEmpty { holdersChanged = true }
        report.returned.sort()
        report.failed.sort()
        report.cancelled.sort()
        report.onTrial.sort()
        return report
    }

    private struct EndedLife {
        let id: HolderID
        let isOwn: Bool
        let hasLeft: Bool
        let boot: String
        let abandoned: Int
        /// When the life expires, as its last renewal set it.
        let lastedUntil: Timestamp
        /// Whether the life expired.
        let hasExpired: Bool

        init(_ row: Row) {
            id = HolderID(row.integer(0))
            isOwn = row.boolean(1)
            hasLeft = !row.isNull(2)
            boot = row.string(3)
            abandoned = row.int(4)
            lastedUntil = row.timestamp(5)
            hasExpired = row.boolean(6)
        }

        /// How the life ended, as far as it is known.
        ///
        /// - Parameters:
        ///   - ownLapse: When the rescuer's own last life expired; nil if it did not. The life of another daemon that expired
        ///     about then probably ended in the same outage.
        ///   - length: The length of a life. Renewed every third of it, lives that one outage ends expire within half of it.
        func lastEnd(
            _ request: RescueRequest, boot: String, beside ownLapse: Timestamp?, _ length: Duration
        ) -> LastEnd {
            if hasLeft { return .unrelated(reason: "The daemon left") }
            guard !isOwn else { return ownEnd(request, boot: boot) }
            guard hasExpired, let ownLapse, abs((lastedUntil - ownLapse).milliseconds) <= length.milliseconds / 2 else {
                return .unexplained
            }
            return .unrelated(reason: "The leases of several daemons expired together")
        }

        /// Whether this is the rescuer's own life, and expired for a reason that other daemons may share, such as an outage.
        func isLapse(_ request: RescueRequest, boot: String) -> Bool {
            isOwn && hasExpired && !hasLeft && !ownEnd(request, boot: boot).isCrash
        }

        private func ownEnd(_ request: RescueRequest, boot: String) -> LastEnd {
            request.lastEnd == .unexplained && boot != self.boot ? .machineRestarted : request.lastEnd
        }
    }

    private func rescue(
        _ life: EndedLife, after lastEnd: LastEnd, _ request: RescueRequest, into report: inout RescueReport,
        now: Timestamp
    ) throws(PostgresError) -> [(CrashTrials.Trial, Timestamp)] {
        let orphans = try run(Statements.orphans, .integer(life.id.rawValue)).map { EndingJob($0) }
            .sorted { $0.row.job < $1.row.job }
        if orphans.isEmpty { return [] }
        let company = Company(others: orphans.count - 1, abandoned: life.abandoned)
        let earlier = try earlierCrashes(of: orphans.map(\.row.job))
        var suspects: [(CrashTrials.Trial, Timestamp)] = []
        var rows = EndRows()
        for orphan in orphans {
            let job = orphan.row.job
            var crashes = earlier[job] ?? CrashCount()
            var failure: JobFailure?
            if lastEnd.isCrash {
                failure = crashes.add(
                    of: job, isExplained: lastEnd != .unexplained, isAlone: company.isNone,
                    maxCrashes: request.maxRescues,
                    end: EndedAttempt(lastEnd, company, isOnTrial: false).failure)
            }
            let trial = CrashTrials.Trial(of: job, afterCrashes: crashes.inARow)
            let next = NextStep(afterCrashOf: orphan, failure: failure)
            let attempt = EndedAttempt(lastEnd, company, isOnTrial: trial != nil && next.state == .ready)
            try close(orphan, attempt, as: next, of: nil, into: &rows, now: now)
            switch next {
            case .final(.cancelled, _): report.cancelled.append(job)
            case .final: report.failed.append(job)
            default:
                report.returned.append(job)
                if let trial {
                    report.onTrial.append(job)
                    suspects.append((trial, orphan.row.startedAt ?? now))
                }
            }
        }
        try write(rows, now: now)
        return suspects
    }

    /// Counts the crashes in which earlier attempts of the jobs ended.
    func earlierCrashes(of jobs: [JobID]) throws(PostgresError) -> [JobID: CrashCount] {
        var counts: [JobID: CrashCount] = [:]
        let (low, high) = Argument.bounds(jobs)
        try run(Statements.crashes, .jobs(jobs), low, high).forEach { row in
            counts[row.job(0)] = CrashCount(inARow: row.int(1), alone: row.int(2), unexplainedAlone: row.int(3))
        }
        return counts
    }

    private enum Statements {
        static let lockOwn = Statement(
            """
            SELECT   life.id
            FROM     halyard.daemon AS own
            JOIN     halyard.daemon AS life ON life.identity = own.identity AND life.id < own.id
            WHERE    own.id = $1::bigint
            AND      life.rescued_ms IS NULL
            ORDER BY life.id
            FOR UPDATE OF life
            """)
        /// Two rescuers never return the jobs of the same life.
        static let ended = Statement(
            """
            UPDATE halyard.daemon
            SET    ended_ms = coalesce(daemon.ended_ms, $2::bigint)
            FROM   (SELECT   id
                    FROM     halyard.daemon
                    WHERE    rescued_ms IS NULL
                    AND      id <> $1::bigint
                    AND      NOT (\(Writer.lasts("$3")))
                    ORDER BY id
                    FOR UPDATE SKIP LOCKED) AS ended
            WHERE  daemon.id = ended.id
            RETURNING daemon.id,
                      daemon.identity = (SELECT own.identity FROM halyard.daemon AS own WHERE own.id = $1::bigint),
                      daemon.left_ms, daemon.boot, daemon.abandoned, daemon.alive_until_ms,
                      daemon.alive_until_ms <= daemon.ended_ms
            """)
        static let orphans = Statement(
            """
            DELETE FROM halyard.running
            WHERE  daemon = $1::bigint
            RETURNING \(EndingJob.columns)
            """)
        static let rescued = Statement(
            """
            WITH released AS (
                DELETE FROM halyard.share WHERE daemon = $1::bigint
            )
            UPDATE halyard.daemon
            SET    rescued_ms = $2::bigint, abandoned = 0
            WHERE  id = $1::bigint
            """)
        /// Counts crashes by the fields that ``JobFailure/counted(beside:cause:)`` adds. A stop of the daemon does not
        /// break a run of crashes; any other outcome does.
        static let crashes = Statement(
            """
            SELECT   job,
                     count(*) FILTER (WHERE number > (
                         SELECT coalesce(max(other.number), 0)
                         FROM   halyard.attempt AS other
                         WHERE  other.job = attempt.job
                         AND    other.job BETWEEN $2::bigint AND $3::bigint
                         AND    other.outcome < \(AttemptOutcome.interrupted.rawValue))),
                     count(*) FILTER (WHERE (detail::json ->> 'beside')::bigint = 0
                                      AND detail::json ->> 'cause' IS NOT NULL),
                     count(*) FILTER (WHERE (detail::json ->> 'beside')::bigint = 0
                                      AND detail::json ->> 'cause' IS NULL)
            FROM     halyard.attempt
            WHERE    job = ANY ($1::bigint[])
            AND      job BETWEEN $2::bigint AND $3::bigint
            AND      outcome = \(AttemptOutcome.crashed.rawValue)
            GROUP BY job
            """)
    }
}
