import Foundation
import Jobs
import SQLite
import SQLiteStore
import Synchronization
import Testing

@Suite struct GroupCommitTests {
    private let directory: TemporaryDirectory
    private let now = Timestamp(milliseconds: 1_750_000_000_000)

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ options: StoreOptions = StoreOptions()) async throws -> (SQLiteJobStore, DefinitionID) {
        let store = try directory.open(options)
        try await store.change(DefinitionChange(definitions: [Definition(name: "a", kind: "b")]), now: now)
        return (store, try await store.definitions().definitions[0].id)
    }

    /// G2.
    @Test func aWriteThatFailsDoesNotTouchThoseItSharesACommitWith() async throws {
        let (store, definition) = try await open()
        // Beyond the schema's limit, which every caller of the store checks before.
        let tooLarge = JSONText(trusted: [UInt8](repeating: UInt8(ascii: "1"), count: JSONText.maxBytes + 1))
        let accepted = await withTaskGroup(of: JobID?.self) { group in
            for index in 0..<100 {
                group.addTask { [now] in
                    let job = NewJob(definition: definition, input: index % 10 == 0 ? tooLarge : nil)
                    do throws(StoreError) {
                        let outcomes = try await store.enqueue([NewGraph(isGraph: true, jobs: [job, job])], now: now)
                        guard case .enqueued(let receipt) = outcomes[0] else { return nil }
                        #expect(index % 10 != 0)
                        return receipt.jobs[0]
                    } catch {
                        #expect(index % 10 == 0)
                        guard case .internalError = error else {
                            Issue.record("unexpected: \(error)")
                            return nil
                        }
                        return nil
                    }
                }
            }
            return await group.reduce(into: Set<JobID>()) { if let job = $1 { $0.insert(job) } }
        }
        #expect(accepted.count == 90)
        #expect(try await store.jobs(JobFilter(limit: 1000)).count == 180)
        #expect(try await store.queues()[0].counts.total == 180)
        #expect(try await store.graphs(limit: 1000, before: nil).count == 90)
        await store.close()
    }

    /// Ten requests wait while a commit is told; together they would hold up the next one for all of their jobs.
    @Test func manyJobsThatWaitTogetherTakeSeveralCommits() async throws {
        let (store, definition) = try await open()
        let commits = Mutex<[Int]>([])
        let isHeld = DispatchSemaphore(value: 0)
        let observation = store.observe { change in
            guard case .jobs(let jobs) = change else { return }
            if commits.withLock({
                $0.append(jobs.count); return $0.count
            }) == 1 {
                isHeld.wait()
            }
        }
        defer { observation.cancel() }
        let graph = NewGraph(isGraph: true, jobs: Array(repeating: NewJob(definition: definition), count: 4000))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask { [now] in _ = try await store.enqueue([graph], now: now) }
            }
            group.addTask {
                // Comes to the writer's thread after the first commit, in which the observer waits.
                isHeld.signal()
            }
            try await group.waitForAll()
        }
        #expect(commits.withLock(\.self).reduce(0, +) == 40_000)
        #expect(commits.withLock { $0.allSatisfy { $0 <= 2000 } }, "\(commits.withLock(\.self))")
        await store.close()
    }

    @Test func anotherProcessesTransactionIsWaitedForAndThenTold() async throws {
        let (store, definition) = try await open(StoreOptions(busyTimeout: .milliseconds(20)))
        let shell = try Connection(path: directory.database, access: .readWrite)
        try shell.execute("BEGIN IMMEDIATE")
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition)])
        await #expect(throws: StoreError.busy(waitedMilliseconds: 20)) {
            _ = try await store.enqueue([graph], now: now)
        }
        try shell.execute("ROLLBACK")
        guard case .enqueued = try await store.enqueue([graph], now: now)[0] else {
            Issue.record("expected the job to be accepted")
            return
        }
        #expect(try await store.jobs(JobFilter()).count == 1)
        await store.close()
    }

    /// Many more pages than the log has room for, and it stays as large as it was made.
    @Test func theLogDoesNotGrowUnderWork() async throws {
        let (store, definition) = try await open(StoreOptions(walBytes: 1 << 20, checkpointPages: 100))
        let input = JSONText(trusted: [34] + [UInt8](repeating: 120, count: 20_000) + [34])
        for _ in 0..<300 {
            _ = try await store.enqueue(
                [NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)])], now: now)
            #expect(store.logBytes <= 1 << 20)
        }
        await store.close()
        // Nothing in it could be replayed into a backup that is put in the database's place.
        #expect(try FileManager.default.attributesOfItem(atPath: directory.database + "-wal")[.size] as? Int ?? 0 == 0)
    }

    @Test func aLongReadHoldsTheLogBackAndItsEndLetsItGo() async throws {
        let (store, definition) = try await open(StoreOptions(walBytes: 0, checkpointPages: 20))
        let shell = try Connection(path: directory.database, access: .readOnly)
        try shell.execute("BEGIN; SELECT count(*) FROM job")
        let input = JSONText(trusted: [34] + [UInt8](repeating: 120, count: 20_000) + [34])
        let graph = NewGraph(isGraph: false, jobs: [NewJob(definition: definition, input: input)])
        for _ in 0..<100 { _ = try await store.enqueue([graph], now: now) }
        #expect(store.logBytes > 100 * 20_000)
        try shell.execute("COMMIT")
        for _ in 0..<20 { _ = try await store.enqueue([graph], now: now) }
        #expect(store.logBytes < 50 * 20_000)
        await store.close()
    }
}
