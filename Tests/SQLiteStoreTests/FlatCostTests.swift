import Jobs
import SQLite
import SQLiteInspection
import StoreParts
import Testing

@testable import SQLiteStore

/// P9: the cost of a claim and of a finish does not depend on how many other rows there are. Counted in steps of
/// SQLite's virtual machine, since a clock measures the machine too.
@Suite struct FlatCostTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)

    /// A database with `others` jobs that are finished, scheduled or blocked, a third each.
    private func writer(_ directory: TemporaryDirectory, others: Int) throws -> Writer {
        let writer = try Opening(try DatabaseLock.acquire(forDatabaseAt: directory.database), StoreOptions()).writer()
        try writer.begin(isObserved: false)
        _ = try writer.change(
            DefinitionChange(
                queues: [QueueChange(name: "default", limit: QueueSettings.maxLimit)],
                definitions: [Definition(name: "step", kind: "noop")]), now: Self.now)
        let third = others / 3
        try enqueue(third, writer)
        while case let claimed = try writer.claim(ClaimRequest(slots: third), now: Self.now), !claimed.isEmpty {
            for lease in claimed.map(\.lease) {
                let end = AttemptEnd(lease: lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
                #expect(try writer.finish(end, now: Self.now) == .recorded(.succeeded))
            }
        }
        try enqueue(third, writer, dueAt: Self.now + .seconds(3600))
        try enqueue(1, writer, dueAt: Self.now + .seconds(3600))
        let parent = JobID(Int64(2 * third + 1))
        try enqueue(third, writer, after: [NewDependency(on: .existing(parent))])
        try writer.flush()
        try writer.commit()
        return writer
    }

    private func enqueue(
        _ count: Int, _ writer: Writer, dueAt: Timestamp? = nil, after dependencies: [NewDependency] = []
    ) throws {
        let job = NewJob(definition: DefinitionID(1), start: dueAt.map { .at($0) } ?? .now, dependencies: dependencies)
        let outcomes = try writer.enqueue(
            [NewGraph(isGraph: true, jobs: Array(repeating: job, count: count))], now: Self.now)
        guard case .enqueued = outcomes[0] else { throw Unexpected(description: "\(outcomes)") }
    }

    struct Unexpected: Error, CustomStringConvertible { let description: String }

    /// The steps of enqueueing, claiming and finishing ten jobs of five priorities, as three transactions.
    private func steps(_ writer: Writer) throws -> [Int] {
        _ = writer.connection.takeStepCount()
        var steps: [Int] = []
        var ends: [AttemptEnd] = []
        for verb in 0..<3 {
            try writer.begin(isObserved: false)
            switch verb {
            case 0:
                let jobs = Priority.allCases.flatMap { priority in
                    [NewJob](repeating: NewJob(definition: DefinitionID(1), priority: priority), count: 2)
                }
                _ = try writer.enqueue(jobs.map { NewGraph(isGraph: false, jobs: [$0]) }, now: Self.now)
            case 1:
                let claimed = try writer.exchange([], claim: ClaimRequest(slots: 10), now: Self.now).claimed
                #expect(claimed.count == 10)
                ends = claimed.map {
                    AttemptEnd(lease: $0.lease, ending: .succeeded(JSONText(trusted: Array("1".utf8))))
                }
            default:
                let exchange = try writer.exchange(ends, claim: ClaimRequest(slots: 10), now: Self.now)
                #expect(exchange.finished == Array(repeating: .recorded(.succeeded), count: 10))
            }
            try writer.flush()
            try writer.commit()
            steps.append(writer.connection.takeStepCount())
        }
        return steps
    }

    @Test func p9QueuesThatWereRemovedAreNotLookedAt() throws {
        let directory = try TemporaryDirectory()
        let writer = try writer(directory, others: 3)
        for name in ["a", "b"] {
            try writer.begin(isObserved: false)
            _ = try writer.change(QueueChange(name: name), now: Self.now)
            let job = NewJob(definition: DefinitionID(1), queue: name)
            let outcome = try writer.enqueue([NewGraph(isGraph: false, jobs: [job])], now: Self.now)[0]
            guard case .enqueued(let receipt) = outcome else { throw Unexpected(description: "\(outcome)") }
            _ = try writer.cancel(receipt.jobs, now: Self.now)
            #expect(try writer.removeQueue(name, now: Self.now) == .removed)
            try writer.flush()
            try writer.commit()
        }
        #expect(writer.memory.queues.count == 3)
        #expect(writer.memory.liveQueues == [0])
        #expect(writer.memory.changedTallies.isEmpty)
        try writer.remember()
        #expect(writer.memory.liveQueues == [0])
        #expect(writer.memory.queues[2].tally[.cancelled] == 1)
    }

    /// Neither its claim nor its end asks for a checkpoint.
    @Test func aJobWithoutACheckpointDoesNotPayForThoseOfOthers() throws {
        let none = try TemporaryDirectory()
        let some = try TemporaryDirectory()
        let writer = try writer(some, others: 3)
        try writer.begin(isObserved: false)
        try enqueue(50, writer)
        let claimed = try writer.claim(ClaimRequest(slots: 50), now: Self.now)
        let saves = claimed.map { CheckpointSave(lease: $0.lease, value: .emptyObject) }
        let holder = try #require(writer.unstored.holder)
        #expect(try writer.save(saves, by: holder, now: Self.now) == Array(repeating: .saved, count: 50))
        try writer.flush()
        try writer.commit()
        #expect(try steps(writer) == steps(try self.writer(none, others: 3)))
    }

    @Test func p9StepsDoNotGrowWithTheOtherRows() throws {
        let small = try TemporaryDirectory()
        let large = try TemporaryDirectory()
        let few = try steps(try writer(small, others: 1_000))
        let many = try steps(try writer(large, others: 100_000))
        #expect(few == many)
        #expect(few.allSatisfy { $0 > 100 }, "the steps were counted: \(few)")
    }
}
