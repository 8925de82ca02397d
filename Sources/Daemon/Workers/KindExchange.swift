import Jobs
import Logging
import OperationTypes
import Runner
import ServiceLifecycle

/// Passes the kinds of the workers to the store, the runner and the definitions.
final class KindExchange: Sendable {
    private let workers: WorkerSet
    private let store: any JobStore
    private let runner: JobRunner
    private let keeper: DefinitionKeeper
    /// Serializes exchanges, so that an older one cannot overwrite a newer one.
    private let turn = AsyncSemaphore(1)

    init(_ workers: WorkerSet, store: any JobStore, runner: JobRunner, keeper: DefinitionKeeper) {
        self.workers = workers
        self.store = store
        self.runner = runner
        self.keeper = keeper
    }

    /// Uses the current kinds for attempts that begin later.
    ///
    /// - Throws: ``StoreError``. The caller may repeat the exchange.
    func exchange() async throws(StoreError) {
        guard await turn.wait() else { return }
        defer { turn.signal() }
        guard let registry = workers.registry else { return }
        let holder = try await runner.begin()
        try await store.register(registry.descriptions, by: holder, now: now(of: store))
        runner.use(registry)
        // The runner no longer starts attempts in workers that left the configuration.
        workers.retire()
        try await keeper.load(by: holder)
    }
}

/// Exchanges the kinds when a worker announces others, or runs for the first time.
struct WorkerService: Service {
    let workers: WorkerSet
    let kinds: KindExchange
    let status: Wakeups
    let logger: Logger

    func run() async throws {
        try await workers.changes.forEach(retryingAfter: .seconds(5)) { error in
            logger.warning("the workers' kinds take effect later, because they cannot be stored now: \(error)")
        } _: { () throws(StoreError) in
            try await kinds.exchange()
            status.wake()
        }
    }
}
