import Jobs
import PostgreSQL
import StoreParts

/// The changes that one transaction makes to the counts of a queue or graph, and the time of the last of them.
struct TallyChange {
    var tally = Tally()
    var at: Timestamp

    init(at: Timestamp) { self.at = at }

    mutating func move(_ jobs: Int64, from old: JobState?, to new: JobState?, now: Timestamp) {
        if let old { tally[old] -= jobs }
        if let new { tally[new] += jobs }
        at = max(at, now)
    }
}

extension Writer {
    /// Inserts the changes to counts (S3).
    func writeTallies() throws(PostgresError) {
        let changes = tallies.filter { !$0.value.tally.isZero }
        if changes.isEmpty { return }
        let subjects = Array(changes.keys)
        func column(_ state: JobState) -> Argument { .integers(subjects.map { changes[$0]!.tally[state] }) }
        try putOff(
            Statements.write, .integers(subjects), .times(subjects.map { changes[$0]!.at }), column(.blocked),
            column(.scheduled), column(.ready), column(.running), column(.succeeded), column(.failed),
            column(.cancelled), column(.skipped), .integer(half(.tally)))
        for subject in subjects {
            unfolded[subject, default: 0] += 1
            if unfolded[subject]! >= Self.changesPerFold {
                unfolded[subject] = nil
                foldable.insert(subject)
            }
        }
        // Most graphs end after a few changes and are never folded.
        if unfolded.count > 10_000 { unfolded = unfolded.filter { $0.value > 8 } }
    }

    /// The number of changes after which a sum is folded, so that reading it stays cheap.
    private static let changesPerFold = 256

    /// Folds the counts that consist of many changes, in a transaction of its own.
    func fold() throws(PostgresError) {
        let subjects = foldable.sorted()
        foldable = []
        for subject in subjects {
            // Another fold was in progress. The next change tries again.
            if try !run(Statements.fold, .integer(subject))[0].boolean(0) {
                unfolded[subject] = Self.changesPerFold - 1
            }
        }
    }

    /// Corrects the sums of a database that was copied to a server whose transactions have not reached their numbers:
    /// changes to come would count as folded already. A sum contains all changes before its number, and those were
    /// deleted with it, so whatever changes are left come after the newest sum.
    func rebaseFolds() throws(PostgresError) {
        memory.areFoldsRebased = true
        // A sequence is not rolled back, so a transaction that failed may have corrected only `halyard.folded`.
        if try run(Statements.isAhead).count == 0 { return }
        // A fold may just have set `halyard.folded`. After the wait for it, the statements below read a newer number of
        // the server.
        try run(Statements.lockFolds)
        try run(Statements.deleteOlder)
        try run(Statements.rebase)
        try run(Statements.rebaseFolded)
    }

    private enum Statements {
        static let isAhead = Statement(
            """
            SELECT 1
            FROM   halyard.folded, pg_snapshot_xmax(pg_current_snapshot()) AS newest
            WHERE  last_value > newest::text::bigint
            OR     EXISTS (SELECT 1 FROM halyard.tally_fold WHERE txid > newest::text::bigint)
            """)
        static let lockFolds = Statement("SELECT pg_advisory_xact_lock(\(AdvisoryLock.folding))")
        static let deleteOlder = Statement(
            """
            DELETE FROM halyard.tally_fold AS fold
            USING  halyard.tally_fold AS newer
            WHERE  newer.txid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            AND    fold.subject = newer.subject
            AND    fold.txid < newer.txid
            """)
        static let rebase = Statement(
            """
            UPDATE halyard.tally_fold
            SET    txid = 0
            WHERE  txid > pg_snapshot_xmax(pg_current_snapshot())::text::bigint
            """)
        static let rebaseFolded = Statement(
            """
            SELECT setval('halyard.folded', newest::text::bigint)
            FROM   halyard.folded, pg_snapshot_xmax(pg_current_snapshot()) AS newest
            WHERE  last_value > newest::text::bigint
            """)
        static let write = Statement(
            """
            INSERT INTO halyard.tally_change (subject, txid, at_ms, blocked, scheduled, ready, running,
                                              succeeded, failed, cancelled, skipped, half)
            SELECT subject, pg_current_xact_id()::text::bigint, at_ms, b, s, r, x, u, f, c, k, $11::bigint
            FROM   unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                          $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])
                   AS change (subject, at_ms, b, s, r, x, u, f, c, k)
            """)
        static let fold = Statement("SELECT halyard.fold_tally($1::bigint)")
    }
}
