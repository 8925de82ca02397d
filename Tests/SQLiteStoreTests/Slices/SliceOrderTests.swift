import Jobs
import SQLite
import Testing

@testable import SQLiteStore

/// Long work of one writer, whose transactions and slices the tests order themselves.
@Suite struct SliceOrderTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)
    private let directory: TemporaryDirectory
    private let writer: Writer

    init() throws {
        directory = try TemporaryDirectory()
        let lock = try DatabaseLock.acquire(forDatabaseAt: directory.database)
        writer = try Opening(lock, StoreOptions(walBytes: 0)).writer()
        try transaction {
            _ = try writer.change(
                DefinitionChange(
                    queues: [QueueChange(name: QueueSettings.defaultName, limit: 10_000)],
                    definitions: [Definition(name: "a", kind: "b")]), now: Self.now)
        }
    }

    private func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try writer.begin(isObserved: false)
        let value = try body()
        try writer.flush()
        try writer.commit()
        return value
    }

    private func count(_ sql: SQL) throws -> Int64 { try writer.connection.integer(sql) ?? 0 }

    private func graph(_ jobs: Int) -> NewGraph {
        NewGraph(isGraph: true, jobs: Array(repeating: NewJob(definition: DefinitionID(1)), count: jobs))
    }

    private func stage(_ graph: NewGraph, _ summary: GraphSummary) async throws -> Writer.Staging {
        let decision = try transaction { try writer.beginStaging(summary, needs: writer.makeNeeds()) }
        guard case .begun(let staging) = decision else { throw Unexpected(what: "\(decision)") }
        var parts: [[UInt8]] = []
        try await StagedPart.divide([graph], orders: [Array(graph.jobs.indices)], queues: staging.queues) {
            (bytes, _) async throws(StoreError) in parts.append(bytes)
        }
        try transaction {
            for (number, part) in parts.enumerated() { try writer.store(part: part, number: number, of: staging) }
        }
        return staging
    }

    private struct Unexpected: Error { let what: String }

    /// A slice of its own for the end could be rolled back, and nothing in the database would say that somebody waits for it.
    @Test func writingEndsWithItsLastPart() async throws {
        let graph = graph(3000)
        let summary = GraphSummary(graph)
        let staging = try await stage(graph, summary)
        try transaction { _ = try writer.accept(StagedGraph(staging: staging, summary: summary), now: Self.now) }
        while try count("SELECT count(*) FROM staged_part") > 0 {
            #expect(writer.endedWork.isEmpty)
            try transaction { try writer.carryOutSlice() }
        }
        #expect(writer.endedWork == [.writing(staging.graph)])
        #expect(!writer.hasLongWork)
    }

    /// The runner claims again only when it is told that something is ready.
    @Test func claimThatMeetsCancelledJobsAsksForAnother() throws {
        let graph = try #require(
            try transaction { try writer.enqueue([self.graph(600)], now: Self.now)[0] }.receipt?.graph)
        let other = try #require(
            try transaction {
                try writer.enqueue(
                    [NewGraph(isGraph: false, jobs: [NewJob(definition: DefinitionID(1))])], now: Self.now)[0]
            }.receipt?.jobs.first)
        try transaction { try writer.beginCancelling(graph, now: Self.now) }
        var answer = Exchange(finished: [], claimed: [], nextDueAt: Self.now)
        var claims = 0
        while answer.claimed.isEmpty, answer.nextDueAt == Self.now {
            answer = try transaction { try writer.exchange([], claim: ClaimRequest(slots: 8), now: Self.now) }
            claims += 1
        }
        #expect(answer.claimed.map(\.lease.job) == [other])
        // Eight at a time.
        #expect(claims == 76)
        #expect(
            try transaction { try writer.exchange([], claim: ClaimRequest(slots: 8), now: Self.now) }.nextDueAt == nil)
    }
}

extension EnqueueOutcome {
    fileprivate var receipt: EnqueueReceipt? {
        if case .enqueued(let receipt) = self { receipt } else { nil }
    }
}
