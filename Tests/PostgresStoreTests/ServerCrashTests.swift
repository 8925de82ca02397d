import Jobs
import PostgresServer
import PostgresStore
import Synchronization
import Testing

/// The server is killed while jobs are enqueued, claimed and ended, and while they save checkpoints.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct ServerCrashTests {
    private static let count = 400
    private let now = Timestamp(milliseconds: 0)

    @Test func everyAcceptedJobEndsOnceAlthoughTheServerCrashes() async throws {
        let server = try #require(PostgresServer())
        // Nobody renews the life, and on a busy machine the test may take longer than one usually lasts.
        var options = PostgresStoreOptions()
        options.lifeLength = .seconds(1_000_000)
        let store = try PostgresJobStore.open(try server.makeDatabase(), options: options)
        try await store.change(
            DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]), now: now)
        let step = try #require(try await store.definitions().definitions.first).id
        let holder = try await store.begin(Holder(identity: "me", host: "here", version: "1"), now: now).id
        let progress = Progress()
        let recorded = try await withThrowingTaskGroup(of: Int.self) { group in
            for part in 0..<4 {
                group.addTask {
                    for number in 0..<Self.count / 4 {
                        let key = IdempotencyKey(name: "\(part) \(number)", fingerprint: 1)
                        let receipt = try await enqueue(step, key, on: store)
                        progress.jobs.withLock { $0.append(receipt.jobs[0]) }
                    }
                    return 0
                }
            }
            group.addTask { try await runAll(on: store, holder) }
            group.addTask {
                for milestone in [Self.count / 8, Self.count / 2] {
                    while progress.jobs.withLock(\.count) < milestone { await Task.yield() }
                    server.crash()
                    progress.crashes.add(1, ordering: .relaxed)
                }
                return 0
            }
            return try await group.reduce(0, +)
        }
        #expect(progress.crashes.load(ordering: .relaxed) == 2)
        #expect(Set(progress.jobs.withLock(\.self)).count == Self.count, "each key has a job of its own")
        let counts = try await store.counts()
        #expect(counts[.succeeded] == Int64(Self.count))
        #expect(counts.total == Int64(Self.count))
        // The end of an attempt whose commit was not answered may have been recorded without its answer.
        #expect(recorded <= Self.count)
        for job in progress.jobs.withLock(\.self) { #expect(try await store.checkpoint(of: job) == nil) }
        await store.close()
    }

    private final class Progress: Sendable {
        let jobs = Mutex<[JobID]>([])
        let crashes = Atomic(0)
    }

    /// Repeats an enqueue until it is answered.
    private func enqueue(
        _ step: DefinitionID, _ key: IdempotencyKey, on store: PostgresJobStore
    ) async throws -> EnqueueReceipt {
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: step)], key: key)
        while true {
            do throws(StoreError) {
                switch try await store.enqueue([graph], now: now)[0] {
                case .enqueued(let receipt), .duplicate(let receipt): return receipt
                case .refused(let problem): throw StoreError.internalError(code: 0, message: "\(problem)")
                }
            } catch {
                guard error.isPassing else { throw error }
                await Task.yield()
            }
        }
    }

    /// Claims and ends jobs until all have ended. The first attempt of each saves a checkpoint and is interrupted. If the
    /// save was acknowledged, the next attempt must begin with the checkpoint.
    ///
    /// - Returns: The number of recorded successes.
    private func runAll(on store: PostgresJobStore, _ holder: HolderID) async throws -> Int {
        let ok = JSONText(trusted: Array("1".utf8))
        var held: [ClaimedJob] = []
        var recorded = 0
        var saved: [JobID: JSONText] = [:]
        while true {
            do throws(StoreError) {
                let saves = held.filter { $0.lease.attempt == 1 }.map {
                    CheckpointSave(lease: $0.lease, value: JSONText(integer: $0.lease.job.rawValue))
                }
                for (save, result) in zip(saves, try await store.save(saves, by: holder, now: now)) {
                    if result == .saved { saved[save.lease.job] = save.value }
                }
                let ends = held.map {
                    AttemptEnd(lease: $0.lease, ending: $0.lease.attempt == 1 ? .interrupted : .succeeded(ok))
                }
                let answer = try await store.exchange(ends, claim: ClaimRequest(slots: 8), by: holder, now: now)
                recorded += answer.finished.count { $0 == .recorded(.succeeded) }
                held = answer.claimed
                for job in held {
                    guard let value = saved[job.lease.job] else { continue }
                    #expect(job.checkpoint == value, "job \(job.lease.job), attempt \(job.lease.attempt)")
                }
                if held.isEmpty, try await store.counts()[.succeeded] == Int64(Self.count) { return recorded }
            } catch {
                guard error.isPassing else { throw error }
                held = try await heldAfterAll(store, holder)
            }
        }
    }

    private func heldAfterAll(_ store: PostgresJobStore, _ holder: HolderID) async throws -> [ClaimedJob] {
        while true {
            do throws(StoreError) {
                return try await store.held(by: holder)
            } catch {
                guard error.isPassing else { throw error }
                await Task.yield()
            }
        }
    }
}
