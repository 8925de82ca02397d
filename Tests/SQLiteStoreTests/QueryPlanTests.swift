import SQLite
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
        Plan("ready", ClaimStatements.readySQL, ["SEARCH job USING INDEX job_ready (queue_id=? AND priority=?)"]),
        Plan("readyJob", ClaimStatements.readyJobSQL, [byNumber]),
        Plan(
            "crashes", RescueStatements.crashesSQL,
            [
                "SEARCH attempt USING PRIMARY KEY (job_id=?)", "SCALAR SUBQUERY",
                "SEARCH attempt USING PRIMARY KEY (job_id=?)",
            ]),
        Plan("start", ClaimStatements.startSQL, [byNumber]),
        Plan("input", ClaimStatements.inputSQL, ["SEARCH job_input USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("nextDue", ClaimStatements.nextDueSQL, ["SCAN job USING INDEX job_due"]),
        Plan("nextWait", ClaimStatements.nextWaitSQL, ["SEARCH job USING INDEX job_wait (steady_ms>?)"]),
        Plan("due", ClaimStatements.dueSQL, ["SEARCH job USING INDEX job_due (due_ms<?)"]),
        Plan("waited", ClaimStatements.waitedSQL, ["SEARCH job USING INDEX job_wait (steady_ms<?)"]),
        Plan("nextSchedule", ScheduleReads.nextSQL, ["SEARCH schedule USING COVERING INDEX schedule_next (next_ms>?)"]),
        Plan("dueSchedules", ScheduleReads.dueSQL, ["SEARCH schedule USING INDEX schedule_next (next_ms<?)"]),
        Plan("moveSchedule", ScheduleStatements.moveSQL, ["SEARCH schedule USING PRIMARY KEY (name=?)"]),
        Plan("schedule", ScheduleStatements.oneSQL, ["SEARCH schedule USING PRIMARY KEY (name=?)"]),
        Plan("isJobOpen", ScheduleStatements.openJobSQL, [byNumber]),
        Plan("isGraphOpen", ScheduleStatements.openGraphSQL, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("promote", ClaimStatements.promoteSQL, [byNumber]),
        Plan("endJob", FinishStatements.endJobSQL, [byNumber]),
        Plan("returnJob", FinishStatements.returnJobSQL, [byNumber]),
        Plan(
            "dependents", SettleStatements.dependentsSQL,
            [
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=? AND (condition,dependent_id,position)>(?,?,?))"
            ]),
        Plan(
            "firstPart", WritingStatements.firstPartSQL,
            [
                "SEARCH staged_part USING INDEX sqlite_autoindex_staged_part_1 (graph_id=?)", "SCALAR SUBQUERY",
                "SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)", "SCALAR SUBQUERY",
                "SEARCH staged_part USING COVERING INDEX sqlite_autoindex_staged_part_1 (graph_id=?)",
            ]),
        Plan(
            "unwritten", UnwrittenStatements.nextSQL,
            [
                "SEARCH part USING INDEX sqlite_autoindex_staged_part_1 ((graph_id,number)>(?,?))",
                "CORRELATED SCALAR SUBQUERY", "SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)",
                "CORRELATED SCALAR SUBQUERY",
                "SEARCH acceptance USING COVERING INDEX sqlite_autoindex_staged_part_1 (graph_id=?)",
            ]),
        Plan(
            "openBelow", CancelStatements.openBelowSQL,
            ["SEARCH job USING INDEX job_graph (graph_id=? AND rowid<?)"]),
        Plan(
            "someJobs", PruneStatements.someJobsSQL, ["SEARCH job USING INDEX job_graph (graph_id=? AND rowid>?)"]),
        Plan(
            "hasLaterDependents", PruneStatements.hasLaterDependentsSQL,
            [
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=? AND condition=? AND dependent_id>?)"
            ]),
        Plan(
            "someEdges", PruneStatements.someEdgesSQL,
            ["SEARCH dependency USING PRIMARY KEY (dependent_id>? AND dependent_id<?)"]),
        Plan("blocked", SettleStatements.blockedSQL, [byNumber]),
        Plan("takeDependency", SettleStatements.takeDependencySQL, [byNumber]),
        Plan("unblock", SettleStatements.unblockSQL, [byNumber]),
        Plan("skip", SettleStatements.skipSQL, [byNumber]),
        Plan("findKey", KeyLookup.sql, ["SEARCH idempotency USING PRIMARY KEY (key=?)"]),
        Plan("stateOf", EnqueueStatements.stateOfSQL, [byNumber]),
        Plan("openJobsOfAGraph", CancelStatements.openJobsSQL, ["SEARCH job USING INDEX job_graph (graph_id=?)"]),
        Plan("job", CancelStatements.jobSQL, [byNumber]),
        Plan("cancel", CancelStatements.cancelSQL, [byNumber]),
        Plan("running", RememberStatements.runningSQL, ["SEARCH job USING INDEX job_open (state=?)"]),
        Plan("setTally", FlushStatements.setTallySQL, ["SEARCH tally USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("addToGraph", FlushStatements.addToGraphSQL, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("delete", PruneStatements.deleteSQL, [byNumber]),
        Plan(
            "prunableJob", PruneStatements.jobSQL,
            [
                byNumber, "CORRELATED SCALAR SUBQUERY",
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=?)",
            ]),
        Plan(
            "hasDependents", PruneStatements.hasDependentsSQL,
            [
                "SEARCH job USING COVERING INDEX job_graph (graph_id=?)",
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=?)",
                "SEARCH dependent USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan("jobsOfAGraph", PruneStatements.jobsSQL, ["SEARCH job USING INDEX job_graph (graph_id=?)"]),
        Plan("deleteJobs", PruneStatements.deleteJobsSQL, ["SEARCH job USING INDEX job_graph (graph_id=?)"]),
        Plan("deleteGraph", PruneStatements.deleteGraphSQL, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)"]),
        Plan("units", PrunableStatements.unitsSQL, ["SEARCH job USING INTEGER PRIMARY KEY (rowid<?)"]),
        Plan(
            "prunableGraph", PrunableStatements.graphSQL,
            [
                "SEARCH graph USING INTEGER PRIMARY KEY (rowid=?)", "CORRELATED SCALAR SUBQUERY",
                "SEARCH job USING COVERING INDEX job_graph (graph_id=?)",
            ]),
        Plan(
            "deleteKey", PruneStatements.deleteKeySQL,
            [
                "SEARCH idempotency USING INDEX sqlite_autoindex_idempotency_2 (first_job_id=?)", "SCALAR SUBQUERY",
                "SEARCH idempotency USING COVERING INDEX sqlite_autoindex_idempotency_2 (first_job_id<?)",
                "CORRELATED SCALAR SUBQUERY", "SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            ]),
        Plan(
            "attempts", RecordStatements.attemptsSQL,
            [
                "SEARCH attempt USING PRIMARY KEY (job_id=?)", "SCALAR SUBQUERY",
                "SEARCH attempt USING PRIMARY KEY (job_id=?)",
            ]),
        Plan(
            "dependencies", NeighbourStatements.dependenciesSQL,
            [
                "SEARCH dependency USING PRIMARY KEY (dependent_id=?)", byNumber,
                "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "dependents", NeighbourStatements.dependentsSQL,
            [
                "SEARCH dependency USING COVERING INDEX dependency_dependents (dependency_id=?)",
                "SEARCH dependent USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "outputs", NeighbourStatements.outputsSQL,
            [
                "SEARCH dependency USING PRIMARY KEY (dependent_id=?)", byNumber,
                "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH result USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "record", RecordStatements.jobSQL,
            [
                byNumber, "SEARCH definition USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH queue USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH job_input USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN", "SCALAR SUBQUERY",
                "SEARCH clock USING INTEGER PRIMARY KEY (rowid=?)",
            ]),
        Plan(
            "edges", GraphStatements.edgesSQL,
            [
                "SEARCH job USING COVERING INDEX job_graph (graph_id=? AND rowid>?)",
                "SEARCH dependency USING PRIMARY KEY (dependent_id=?)",
            ]),
        Plan("graphs", GraphStatements.newestSQL, ["SEARCH graph USING INTEGER PRIMARY KEY (rowid<?)"]),
    ]

    /// Listings: only the way to the jobs is of interest, which is the first line.
    static let listings: [Plan] = [
        Plan(
            "allNewest", ListingStatements.allNewestSQL, ["SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]),
        Plan(
            "allOldest", ListingStatements.allOldestSQL, ["SEARCH job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]),
        Plan(
            "graphNewest", ListingStatements.graphNewestSQL,
            ["SEARCH job USING INDEX job_graph (graph_id=? AND rowid>? AND rowid<?)"]),
        Plan(
            "unsuccessfulNewest", ListingStatements.unsuccessfulNewestSQL,
            ["SEARCH job USING INDEX job_unsuccessful (state=? AND rowid>? AND rowid<?)"]),
        Plan(
            "openNewest", ListingStatements.openNewestSQL,
            ["SEARCH job USING INDEX job_open (state=? AND rowid>? AND rowid<?)"]),
        Plan(
            "openOldest", ListingStatements.openOldestSQL,
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
