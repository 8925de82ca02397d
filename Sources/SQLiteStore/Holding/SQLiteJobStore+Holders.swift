import Jobs
import SQLite

extension SQLiteJobStore {
    /// The lock on the database admits one holder.
    public var capabilities: StoreCapabilities { StoreCapabilities(holders: .one) }

    public func begin(_ holder: Holder, now: Timestamp) async throws(StoreError) -> HolderLife {
        try await write { (writer) throws(SQLiteError) in try writer.begin(holder, now: now) }
    }

    public func renew(_ holder: HolderID, now: Timestamp) async throws(StoreError) -> Renewal {
        try await write { (writer) throws(SQLiteError) in writer.renew(holder) }
    }

    public func leave(_ holder: HolderID, now: Timestamp) async throws(StoreError) {
        try await write { (writer) throws(SQLiteError) in try writer.leave(holder, now: now) }
    }

    public func rescue(
        _ request: RescueRequest, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> RescueReport {
        let (report, lock) = try await write { (writer) throws(SQLiteError) in
            (try writer.rescue(request, by: holder, now: now), writer.lock)
        }
        // If the process dies before this, the next start reads the marks again, but finds no orphans to blame.
        lock.note { marks in
            marks.lastEnd = nil
            marks.abandoned = 0
        }
        return report
    }

    public func held(by holder: HolderID) async throws(StoreError) -> [ClaimedJob] {
        try await write { (writer) throws(SQLiteError) in try writer.held(by: holder) }
    }

    public func noteAbandoned(_ count: Int, by holder: HolderID) { lock?.note { $0.abandoned = count } }
}
