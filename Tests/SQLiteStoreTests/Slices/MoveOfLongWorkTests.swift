import Jobs
import Moving
import SQLite
import Testing

@testable import SQLiteStore

/// A move completes what the last daemon left open, as its next start would have done.
@Suite struct MoveOfLongWorkTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)

    private func settled(_ bench: SlicedStore) throws -> [Facts: FactDigest] {
        let lock = try DatabaseLock.acquire(forDatabaseAt: bench.database)
        defer { lock.release() }
        let source = try SQLiteMoveSource(lock)
        try source.settle()
        return try Move.digests(of: source.read)
    }

    @Test func jobsOfAnAcceptedGraphAreWrittenFirst() async throws {
        let bench = try await SlicedStore()
        let staged = try await bench.stage(bench.fan(3000))
        try await bench.stop { (writer) throws(SQLiteError) in _ = try writer.accept(staged, now: Self.now) }
        #expect(try bench.count("SELECT count(*) FROM job") == 0)
        let digests = try settled(bench)
        #expect(digests[.jobs]?.count == 3001)
        #expect(digests[.dependencies]?.count == 3000)
        #expect(try bench.count("SELECT count(*) FROM staged_part") == 0)
        try bench.reopen()
        try await bench.check()
        await bench.store.close()
    }

    @Test func aGraphThatWasNeverAcceptedIsDropped() async throws {
        let bench = try await SlicedStore()
        _ = try await bench.stage(bench.fan(3000))
        await bench.store.close()
        #expect(try bench.count("SELECT count(*) FROM staged_part") > 0)
        #expect(try settled(bench)[.jobs]?.count == 0)
        #expect(try bench.count("SELECT count(*) FROM staged_part") == 0)
    }
}
