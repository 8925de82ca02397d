import Foundation
import Jobs
import Logging
import OperationTypes
import Runner
import SQLiteStore
import Synchronization

/// A store and a running runner in this process, with one definition, of ``NoOp``.
struct Engine {
    let store: SQLiteJobStore
    let definition: DefinitionID
    let starts: StartTimes
    private let lock: DatabaseLock
    private let runner: JobRunner
    private let running: Task<Void, any Error>

    static let silent = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }

    /// - Parameter slots: How many jobs may run at once, in total and in the queue.
    init(at path: String, slots: Int, logger: Logger = silent) async throws {
        (lock, store, definition) = try await openNoOpStore(at: path, limit: slots)
        let starts = StartTimes()
        self.starts = starts
        let runner = JobRunner(
            store: store, as: Holder(identity: "bench", host: "localhost", version: "0"),
            kinds: try KindRegistry([NoOp { starts.note($0, $1) }]),
            settings: RunnerSettings(slots: slots), logger: logger,
            planChild: { (_) throws(JobFailure) in
                throw JobFailure(code: "none", message: "a no-op enqueues nothing")
            })
        self.runner = runner
        // Awaited by `stop()`.
        running = Task { try await runner.run() }
        guard await runner.waitUntilReady() else { throw BenchError("the runner did not start") }
    }

    func job(after dependencies: [Int] = []) -> NewJob {
        NewJob(
            definition: definition, input: NoOp.input, dependencies: dependencies.map { NewDependency(on: .new($0)) })
    }

    func stop() async throws {
        await runner.drain(limit: .seconds(10))
        try await running.value
        await store.close()
        lock.release()
    }
}

/// Opens a store and adds the definition of ``NoOp``.
func openNoOpStore(
    at path: String, limit: Int
) async throws -> (DatabaseLock, SQLiteJobStore, DefinitionID) {
    let lock = try DatabaseLock.acquire(forDatabaseAt: path)
    let store = try SQLiteJobStore.open(lock)
    let now = SystemWallClock().now
    try await store.register([NoOp.description], now: now)
    try await store.change(
        DefinitionChange(
            queues: [QueueChange(name: QueueSettings.defaultName, limit: limit)],
            definitions: [Definition(name: "noop", kind: NoOp.name)]), now: now)
    guard let definition = try await store.definitions().definitions.first?.id else {
        throw BenchError("the definition is not there")
    }
    return (lock, store, definition)
}

/// The time at which each job's operation started.
final class StartTimes: Sendable {
    private let instants = Mutex<[JobID: ContinuousClock.Instant]>([:])

    func note(_ job: JobID, _ instant: ContinuousClock.Instant) { instants.withLock { $0[job] = instant } }
    subscript(job: JobID) -> ContinuousClock.Instant? { instants.withLock { $0[job] } }
}

/// Waits until a given number of jobs in a store have become final.
final class FinalCount: Sendable {
    private let missing: Atomic<Int>
    private let over = Latch<Void>()
    private let observation = Mutex<StoreObservation?>(nil)

    init(_ count: Int, in store: SQLiteJobStore) {
        missing = Atomic(count)
        let observed = store.observe { [weak self] change in
            guard case .jobs(let changes) = change else { return }
            self?.subtract(changes.count { $0.state.isFinal })
        }
        observation.withLock { $0 = observed }
    }

    private func subtract(_ count: Int) {
        if missing.subtract(count, ordering: .acquiringAndReleasing).newValue <= 0 { over.open() }
    }

    func wait() async { await over.wait() }
}
