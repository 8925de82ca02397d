import Jobs
import SQLite
import SQLiteInspection
import Testing

@testable import SQLiteStore

/// Every hot statement goes through the index it is meant to, and sorts nothing (P9).
@Suite struct QueryPlanTests {
    struct Plan: Sendable, CustomTestStringConvertible {
        let name: String
        let sql: SQL
        /// The lines of EXPLAIN QUERY PLAN, in order.
        let steps: [String]
        var testDescription: String { name }

        init(_ name: String, _ sql: SQL, _ steps: [String]) {
            self.name = name
            self.sql = sql
            self.steps = steps
        }
    }

    static let byNumber = "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)"
    static let plans: [Plan] = [
        Plan("ready", ReadyCursor(.normal).ready.sql, ["SEARCH job USING INDEX job_ready (queue_id=? AND priority=?)"]),
        Plan(
            "readyBehind", ReadyCursor(.normal).readyBehind.sql,
            [
                "MERGE (UNION ALL)", "LEFT",
                "SEARCH job USING INDEX job_ready (queue_id=? AND priority=? AND steady_ms=? AND rowid>?)", "RIGHT",
                "SEARCH job USING INDEX job_ready (queue_id=? AND priority=? AND steady_ms>?)",
            ]),
        Plan("readyJob", ClaimStatements().readyJob.sql, [byNumber]),
        Plan(
            "crashes", RescueStatements().crashes.sql,
            [
                "SEARCH attempt USING PRIMARY KEY (job_id=?)", "SCALAR SUBQUERY",
                "SEARCH attempt USING PRIMARY KEY (job_id=?)",
            ]),
        Plan("start", ClaimStatements().start.sql, [byNumber]),
        Plan("input", ClaimStatements().input.sql, ["SEARCH job_input USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("lastOutcome", ClaimStatements().lastOutcome.sql, ["SEARCH attempt USING PRIMARY KEY (job_id=?)"]),
        Plan("nextDue", ClaimStatements().nextDue.sql, ["SCAN job USING INDEX job_due"]),
        Plan("nextWait", ClaimStatements().nextWait.sql, ["SEARCH job USING INDEX job_wait (steady_ms>?)"]),
        Plan("due", ClaimStatements().due.sql, ["SEARCH job USING INDEX job_due (due_ms<?)"]),
        Plan("waited", ClaimStatements().waited.sql, ["SEARCH job USING INDEX job_wait (steady_ms<?)"]),
        Plan(
            "nextSchedule", ScheduleReads().next.sql, ["SEARCH schedule USING COVERING INDEX schedule_next (next_ms>?)"]
        ),
        Plan("dueSchedules", ScheduleReads().due.sql, ["SEARCH schedule USING INDEX schedule_next (next_ms<?)"]),
        Plan("moveSchedule", ScheduleStatements().move.sql, ["SEARCH schedule USING PRIMARY KEY (name=?)"]),
        Plan("schedule", ScheduleStatements().one.sql, ["SEARCH schedule USING PRIMARY KEY (name=?)"]),
        Plan("isJobOpen", ScheduleStatements().openJob.sql, [byNumber]),
        Plan("isGraphOpen", CancelStatements().graph.sql, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("promote", ClaimStatements().promote.sql, [byNumber]),
        Plan("saveCheckpoint", CheckpointStatements().save.sql, [byNumber]),
        Plan(
            "checkpoint", CheckpointStatements().value.sql,
            ["SEARCH checkpoint USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan(
            "deleteCheckpoint", CheckpointStatements().delete.sql,
            ["SEARCH checkpoint USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("endJob", FinishStatements().endJob.sql, [byNumber]),
        Plan("retryJob", FinishStatements().retryJob.sql, [byNumber]),
        Plan("returnJob", FinishStatements().returnJob.sql, [byNumber]),
        Plan(
            "dependents", SettleStatements().dependents.sql,
            [
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=? AND (condition,dependent_id,position)>(?,?,?))"
            ]),
        Plan(
            "firstPart", WritingStatements().firstPart.sql,
            [
                "SEARCH staged_part USING INDEX sqlite_autoindex_staged_part_1 (graph_id=?)", "SCALAR SUBQUERY",
                "SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY",
                "SEARCH staged_part USING COVERING INDEX sqlite_autoindex_staged_part_1 (graph_id=?)",
            ]),
        Plan(
            "unwritten", UnwrittenStatements().next.sql,
            [
                "SEARCH part USING INDEX sqlite_autoindex_staged_part_1 ((graph_id,number)>(?,?))",
                "CORRELATED SCALAR SUBQUERY", "SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)",
                "CORRELATED SCALAR SUBQUERY",
                "SEARCH acceptance USING COVERING INDEX sqlite_autoindex_staged_part_1 (graph_id=?)",
            ]),
        Plan(
            "openBelow", CancelStatements().openBelow.sql,
            ["SEARCH job USING INDEX job_graph (graph_id=? AND rowid<?)"]),
        Plan(
            "jobsOfAGraph", PruneStatements().jobs.sql, ["SEARCH job USING INDEX job_graph (graph_id=? AND rowid>?)"]),
        Plan(
            "hasLaterDependents", PruneStatements().hasLaterDependents.sql,
            [
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=? AND condition=? AND dependent_id>?)"
            ]),
        Plan(
            "someEdges", PruneStatements().someEdges.sql,
            ["SEARCH dependency USING PRIMARY KEY (dependent_id>? AND dependent_id<?)"]),
        Plan("blocked", SettleStatements().blocked.sql, [byNumber]),
        Plan("takeDependency", SettleStatements().takeDependency.sql, [byNumber]),
        Plan("unblock", SettleStatements().unblock.sql, [byNumber]),
        Plan("skip", SettleStatements().skip.sql, [byNumber]),
        Plan("findKey", KeyLookup().find.sql, ["SEARCH idempotency USING PRIMARY KEY (key=?)"]),
        Plan("stateOf", EnqueueStatements().stateOf.sql, [byNumber]),
        Plan("openJobsOfAGraph", CancelStatements().openJobs.sql, ["SEARCH job USING INDEX job_graph (graph_id=?)"]),
        Plan("job", CancelStatements().job.sql, [byNumber]),
        Plan("cancel", CancelStatements().cancel.sql, [byNumber]),
        Plan("running", RememberStatements().running.sql, ["SEARCH job USING INDEX job_open (state=?)"]),
        Plan("setTally", FlushStatements().setTally.sql, ["SEARCH tally USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("addToGraph", FlushStatements().addToGraph.sql, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("delete", PruneStatements().delete.sql, [byNumber]),
        Plan(
            "prunableJob", PruneStatements().job.sql,
            [
                byNumber, "CORRELATED SCALAR SUBQUERY",
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=?)",
            ]),
        Plan(
            "hasDependents", PruneStatements().hasDependents.sql,
            [
                "SEARCH job USING COVERING INDEX job_graph (graph_id=?)",
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=?)",
                "SEARCH dependent USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan("deleteJobs", PruneStatements().deleteJobs.sql, ["SEARCH job USING INDEX job_graph (graph_id=?)"]),
        Plan("deleteGraph", PruneStatements().deleteGraph.sql, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("units", PrunableStatements().units.sql, ["SEARCH job USING INTEGER PRIMARY KEY (rowid<?)"]),
        Plan(
            "prunableGraph", PrunableStatements().graph.sql,
            [
                "SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)", "CORRELATED SCALAR SUBQUERY",
                "SEARCH job USING COVERING INDEX job_graph (graph_id=?)",
            ]),
        Plan(
            "deleteKey", PruneStatements().deleteKey.sql,
            [
                "SEARCH idempotency USING INDEX sqlite_autoindex_idempotency_2 (first_job_id=?)", "SCALAR SUBQUERY",
                "SEARCH idempotency USING COVERING INDEX sqlite_autoindex_idempotency_2 (first_job_id<?)",
                "CORRELATED SCALAR SUBQUERY", "SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            ]),
        Plan(
            "attempts", RecordStatements().attempts.sql,
            [
                "SEARCH attempt USING PRIMARY KEY (job_id=?)", "SCALAR SUBQUERY",
                "SEARCH attempt USING PRIMARY KEY (job_id=?)",
            ]),
        Plan(
            "dependencies", NeighbourStatements().dependencies.sql,
            [
                "SEARCH dependency USING PRIMARY KEY (dependent_id=?)", byNumber,
                "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "dependents", NeighbourStatements().dependents.sql,
            [
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=?)",
                "SEARCH job USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "outputs", NeighbourStatements().outputs.sql,
            [
                "SEARCH dependency USING PRIMARY KEY (dependent_id=?)", byNumber,
                "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH result USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "record", RecordStatements().job.sql,
            [
                byNumber, "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH job_input USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN", "SCALAR SUBQUERY",
                "SEARCH clock USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "edges", GraphStatements().edges.sql,
            [
                "SEARCH job USING COVERING INDEX job_graph (graph_id=? AND rowid>?)",
                "SEARCH dependency USING PRIMARY KEY (dependent_id=?)",
            ]),
        Plan("graphs", GraphStatements().newest.sql, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid<?)"]),
    ]

    /// Listings: only the way to the jobs is of interest, which is the first line.
    static let listings: [Plan] = [
        Plan(
            "allNewest", ListingStatements().all.newestFirst.sql,
            ["SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]),
        Plan(
            "allOldest", ListingStatements().all.oldestFirst.sql,
            ["SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]),
        Plan(
            "graphNewest", ListingStatements().graph.newestFirst.sql,
            ["SEARCH job USING INDEX job_graph (graph_id=? AND rowid>? AND rowid<?)"]),
        Plan(
            "unsuccessfulNewest", ListingStatements().unsuccessful.newestFirst.sql,
            ["SEARCH job USING INDEX job_unsuccessful (state=? AND rowid>? AND rowid<?)"]),
        Plan(
            "openNewest", ListingStatements().open.newestFirst.sql,
            ["SEARCH job USING INDEX job_open (state=? AND rowid>? AND rowid<?)"]),
        Plan(
            "openOldest", ListingStatements().open.oldestFirst.sql,
            ["SEARCH job USING INDEX job_open (state=? AND rowid>? AND rowid<?)"]),
    ]

    private func steps(_ sql: SQL) throws -> [String] {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        for migration in Migration.all { try migration.run(on: connection) }
        return try connection.queryPlan(of: sql)
    }

    @Test(arguments: plans)
    func usesItsIndexAndSortsNothing(_ plan: Plan) throws {
        // The number of a subquery says nothing.
        let found = try steps(plan.sql).map { $0.replacing(#/ \d+$/#, with: "") }
        #expect(found == plan.steps)
    }

    @Test(arguments: listings)
    func walksItsIndexInOrder(_ plan: Plan) throws {
        let found = try steps(plan.sql)
        #expect(found.first == plan.steps.first)
        #expect(!found.contains { $0.contains("TEMP B-TREE") })
    }

    /// However many jobs are final.
    @Test(arguments: ["SELECT * FROM waiting", "SELECT * FROM attempts WHERE outcome = 'running'"] as [SQL])
    func viewsOfOpenJobsPassOverNoFinalOnes(_ sql: SQL) throws {
        let found = try steps(sql)
        #expect(found.contains { $0.hasPrefix("SEARCH job USING INDEX job_open (state=?)") })
        #expect(!found.contains("SCAN job"))
    }
}
