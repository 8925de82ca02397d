import Jobs
import SQLite
import Synchronization

extension SQLiteJobStore {
    /// The lock on the database admits one holder.
    public var capabilities: StoreCapabilities { StoreCapabilities(holders: .one) }

    public func begin(_ holder: Holder, now: Timestamp) async throws(StoreError) -> HolderLife {
        let life = try await write { (writer) throws(SQLiteError) in try writer.begin(holder, now: now) }
        ownLife.withLock { $0 = life.id }
        return life
    }

    public func renew(_ holder: HolderID, now: Timestamp) async throws(StoreError) -> Renewal {
        try await write { (writer) throws(SQLiteError) in writer.renew(holder) }
    }

    public func leave(_ holder: HolderID, now: Timestamp) async throws(StoreError) {
        try await write { (writer) throws(SQLiteError) in try writer.leave(holder, now: now) }
        ownLife.withLock { if $0 == holder { $0 = nil } }
    }

    public func holders() async throws(StoreError) -> [HolderRecord] {
        let lasting = lastingLife
        return try await reading.perform { (reader) throws(SQLiteError) in try reader.holders(lasting: lasting) }
    }

    /// The life that may last although no goodbye is stored: this process's, or that of the daemon that has the lock.
    private var lastingLife: LastingLife {
        if writing != nil { return .only(ownLife.withLock(\.self)) }
        do throws(StoreOpenError) {
            guard let holder = try DatabaseLock.holder(ofDatabaseAt: path) else { return .only(nil) }
            return holder.isLivingDaemon ? .last : .only(nil)
        } catch {
            // The lock says nothing, so the stored goodbye decides alone.
            return .last
        }
    }

    public func rescue(
        _ request: RescueRequest, by holder: HolderID, now: Timestamp
    ) async throws(StoreError) -> RescueReport {
        let (report, lock) = try await write { (writer) throws(SQLiteError) in
            (try writer.rescue(request, by: holder, now: now), writer.lock)
        }
        // If the process dies before this, the next start reads the marks again, but finds no orphans to blame.
        lock.forgetLastEnd()
        return report
    }

    public func held(by holder: HolderID) async throws(StoreError) -> [ClaimedJob] {
        try await write { (writer) throws(SQLiteError) in try writer.held(by: holder) }
    }

    public func noteAbandoned(_ count: Int, by holder: HolderID) { lock?.note { $0.abandoned = count } }
}
