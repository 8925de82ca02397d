import Jobs
import SQLite

@testable import SQLiteStore

/// Short forms of the writer's verbs for its only holder, whose life begins with the first of them.
extension Writer {
    func exchange(
        _ ends: [AttemptEnd], children: [Lease: StagedChildren] = [:], claim: ClaimRequest?, now: Timestamp
    ) throws(SQLiteError) -> Exchange {
        try exchange(ends, children: children, claim: claim, by: try anyHolder(now: now), now: now)
    }

    func claim(_ request: ClaimRequest, now: Timestamp) throws(SQLiteError) -> [ClaimedJob] {
        try claim(request, by: try anyHolder(now: now), now: now)
    }

    func finish(_ end: AttemptEnd, now: Timestamp) throws(SQLiteError) -> FinishResult {
        try finish(end, by: try anyHolder(now: now), now: now)
    }

    private func anyHolder(now: Timestamp) throws(SQLiteError) -> HolderID {
        if let known = unstored.holder { return known }
        return try begin(Holder(identity: "test", host: "localhost", version: "0"), now: now).id
    }
}
