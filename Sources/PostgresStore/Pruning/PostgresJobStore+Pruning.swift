import Jobs
import PostgreSQL

extension PostgresJobStore {
    /// Looks for the jobs on a connection that only reads, so that a long search does not delay the writer. A step
    /// covers one range of history at most. If it covers the whole range and all jobs can be deleted, it drops the
    /// range.
    public func prune(_ request: PruneRequest, below: JobID?, limit: Int) async throws(StoreError) -> PruneStep {
        if below == nil { try await clearDroppedRanges() }
        let found = try await listing.perform { (reader) throws(PostgresError) in try reader.range(below: below) }
        guard let range = found else { return PruneStep(deleted: 0, next: nil) }
        if range.isFull, range.below <= below ?? range.below, let deleted = try await drop(range, request) {
            try await clearDroppedRanges()
            return PruneStep(deleted: deleted, next: range.isOldest ? nil : range.first)
        }
        return try await pruneRows(of: range, request, below: below, limit: limit)
    }

    private func pruneRows(
        of range: HistoryRange, _ request: PruneRequest, below: JobID?, limit: Int
    ) async throws(StoreError) -> PruneStep {
        let found = try await listing.perform { (reader) throws(PostgresError) in
            try reader.prunable(request, in: range, below: below, limit: limit)
        }
        var step = PruneStep(deleted: 0, keptByGraph: found.keptByGraph, next: found.lowest)
        var rest = found.units[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(200))
            rest = rest.dropFirst(some.count)
            let (deleted, kept) = try await bulk.perform(weight: some.count) { (writer) throws(PostgresError) in
                try writer.prune(some)
            }
            step.deleted += deleted
            step.keptByDependents += kept
        }
        // The last graph of the walk may begin in the range below this one (N6).
        if found.isAtEnd { step.next = range.isOldest ? nil : min(found.lowest, range.first) }
        return step
    }

    /// The pauses before the attempts to drop a range. After the last attempt, the rows are deleted one by one, and a
    /// later prune drops the empty range.
    private static let pauses: [Duration] = [10, 40, 160, 640].map { .milliseconds($0) }

    /// Drops a range whose numbers are all taken.
    ///
    /// - Returns: The number of its jobs; nil if it must be pruned row by row.
    private func drop(_ range: HistoryRange, _ request: PruneRequest) async throws(StoreError) -> Int? {
        if !range.isClosed {
            let isClosed = try await bulk.perform { (writer) throws(PostgresError) in try writer.close(range) }
            guard isClosed else { return nil }
        }
        let found = try await listing.perform { (reader) throws(PostgresError) in
            try reader.contents(of: range, request)
        }
        guard let contents = found else { return nil }
        var users = try await listing.perform { (reader) throws(PostgresError) in try reader.users(of: range) }
        for pause in Self.pauses {
            // Losing this error is harmless: a cancelled prune makes its attempts without pauses.
            try? await Task.sleep(for: pause)
            let before = users
            users = try await listing.perform { (reader) throws(PostgresError) in try reader.users(of: range) }
            // Skips an attempt that cannot succeed, since other transactions would wait behind it.
            if !users.isDisjoint(with: before) { continue }
            switch try await bulk.perform({ (writer) throws(PostgresError) in try writer.drop(range, contents) }) {
            case .dropped: return contents.jobs
            case .busy: continue
            case .changed, .needed: return nil
            }
        }
        return nil
    }

    /// Deletes the rows that remain of dropped ranges, also after a prune that was interrupted.
    private func clearDroppedRanges() async throws(StoreError) {
        while try await bulk.perform({ (writer) throws(PostgresError) in try writer.clearDroppedRange() }) {}
    }
}
