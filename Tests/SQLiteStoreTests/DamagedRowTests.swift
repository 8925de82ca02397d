import Foundation
import Jobs
import SQLite
import Testing

@testable import SQLiteStore

/// Rows that another program has damaged are an error with a reason, never a trap (P11).
@Suite struct DamagedRowTests {
    private static let now = Timestamp(milliseconds: 1_750_000_000_000)
    private let bench: SlicedStore
    private var now: Timestamp { Self.now }

    init() async throws { bench = try await SlicedStore() }

    /// Numbers that the schema forbids, as a damaged page or a shell with `ignore_check_constraints` leaves them.
    private func damage(_ sql: SQL) throws {
        let shell = try Connection(path: bench.database, access: .readWrite)
        try shell.execute("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        try shell.execute(sql)
    }

    private func expectDamaged<Value>(_ body: () async throws -> Value) async {
        do {
            _ = try await body()
            Issue.record("the damage was not noticed")
        } catch StoreError.damaged {
        } catch {
            Issue.record("unexpected: \(error)")
        }
    }

    // MARK: Staged parts

    @Test func damagedPartIsNotAPart() async throws {
        let definition = bench.definition
        let graph = NewGraph(
            isGraph: true,
            jobs: [
                NewJob(definition: definition, node: "first", input: .emptyObject),
                NewJob(
                    definition: definition, start: .after(.seconds(5)), dependencies: [NewDependency(on: .new(0))],
                    repeats: JobID(3)),
                NewJob(definition: definition, dependencies: [NewDependency(on: .existing(JobID(7)))]),
            ])
        var parts: [[UInt8]] = []
        try await StagedPart.divide([graph], orders: [[0, 1, 2]], queues: [:]) { (bytes, _) async throws(StoreError) in
            parts.append(bytes)
        }
        let part = try #require(parts.first)
        #expect(StagedPart(part)?.entries.count == 3)
        // Any byte has any value, and numbers may be as large as their encoding allows.
        for index in part.indices {
            for byte in UInt8.min...UInt8.max {
                var damaged = part
                damaged[index] = byte
                _ = StagedPart(damaged)
            }
            for end: [UInt8] in [
                [1], [255, 255, 255, 255, 255, 255, 255, 255, 255, 1], [254, 255, 255, 255, 255, 15],
            ] {
                _ = StagedPart(part[..<index] + end + part[(index + 1)...])
                _ = StagedPart(part[..<index] + end)
            }
        }
        await bench.store.close()
    }

    /// The numbers have the right form, but name nothing that exists: a queue, a queue before the first, a job.
    @Test(
        arguments: [
            // Index, first of its entries, definition, no node, no input, queue, priority, now, repeats nothing,
            // dependencies, position, count.
            [0, 2, 2, 1, 1, 200, 1, 0, 0, 0, 0, 0, 0],
            [0, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0],
            [254, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func partThatNamesWhatIsNotThereIsDamage(body: [UInt8]) async throws {
        let staged = try await bench.stage(bench.fan(3000))
        await expectDamaged {
            try await bench.store.write { (writer) throws(SQLiteError) in
                _ = try writer.accept(staged, now: Self.now)
                writer.memory.work = []
                try writer.connection.execute("DELETE FROM staged_part")
                try writer.store(part: body, number: 0, of: staged.staging)
                _ = try writer.writePart(of: staged.staging.graph)
            }
        }
        await bench.store.close()
    }

    // MARK: Other rows

    @Test(arguments: [-1, 0, Int64.max]) func keyWithAnImpossibleCountIsDamage(jobs: Int64) async throws {
        var graph = bench.fan(3)
        graph.key = IdempotencyKey(name: "once", fingerprint: 7)
        _ = try await bench.enqueue(graph)
        switch jobs {
        case -1: try damage("UPDATE idempotency SET jobs = -1")
        case 0: try damage("UPDATE idempotency SET jobs = 0")
        default: try damage("UPDATE idempotency SET jobs = 0x7FFFFFFFFFFFFFFF")
        }
        await expectDamaged { [graph] in try await bench.store.enqueue([graph], now: now) }
        await expectDamaged { try await bench.store.outcome(of: IdempotencyKey(name: "once", fingerprint: 7)) }
        await bench.store.close()
    }

    /// Each is read when the store opens.
    @Test(arguments: 0..<6) func startWithADamagedNumberIsRefused(which: Int) async throws {
        _ = try await bench.enqueue(bench.fan(3))
        _ = try await bench.store.exchange([], claim: ClaimRequest(slots: 1), now: now)
        await bench.store.close()
        switch which {
        case 0: try damage("UPDATE job SET queue_id = 99 WHERE state = 3")
        case 1: try damage("UPDATE clock SET skew_ms = -0x7FFFFFFFFFFFFFFF")
        case 2: try damage("UPDATE clock SET origin_ms = 0x7FFFFFFFFFFFFFFF")
        case 3: try damage("UPDATE tally SET steady_ms = 0x7FFFFFFFFFFFFFFF")
        case 4: try damage("UPDATE meta SET next_job_id = 0x7FFFFFFFFFFFFFFF")
        default: try damage("UPDATE queue SET id = -9223372036854775807 - 1")
        }
        #expect(throws: (any Error).self) { try bench.reopen() }
    }

    /// Each is read while jobs run.
    @Test(arguments: 0..<4) func jobWithADamagedNumberIsNoTrap(which: Int) async throws {
        let receipt = try await bench.enqueue(bench.fan(3))
        let wait = NewJob(definition: bench.definition, start: .after(.seconds(60)))
        _ = try await bench.enqueue(NewGraph(isGraph: false, jobs: [wait]))
        switch which {
        case 0: try damage("UPDATE job SET queue_id = 99")
        case 1: try damage("UPDATE job SET steady_ms = -0x7FFFFFFFFFFFFFFF")
        case 2: try damage("UPDATE job SET attempt = 0x7FFFFFFFFFFFFFFF, started_ms = 0 WHERE state = 2")
        default: try damage("UPDATE job SET due_ms = -0x7FFFFFFFFFFFFFFF, enqueued_ms = 0x7FFFFFFFFFFFFFFF")
        }
        // Some of these are answered, others are errors; only a trap would be wrong.
        _ = try? await bench.store.exchange([], claim: ClaimRequest(slots: 1), now: now)
        _ = try? await bench.store.exchange([], claim: ClaimRequest(slots: 1), now: now + .seconds(120))
        _ = try? await bench.store.cancel(receipt.jobs, now: now)
        await bench.store.close()
    }
}
