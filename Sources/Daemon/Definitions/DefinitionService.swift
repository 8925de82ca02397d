import Jobs
import Logging
import ServiceLifecycle

/// Reads and checks the definitions again whenever they change.
struct DefinitionService: Service {
    let store: any JobStore
    let keeper: DefinitionKeeper
    let logger: Logger

    func run() async throws {
        let changes = Wakeups()
        let observation = store.observe { change in
            switch change {
            case .definitions, .queues: changes.wake()
            case .jobs, .accepted, .schedules, .condition, .stopped: break
            }
        }
        defer { observation.cancel() }
        for await _ in changes.stream.cancelOnGracefulShutdown() {
            do throws(StoreError) {
                try await keeper.load()
            } catch {
                // A transient failure is not a reason to end the daemon and interrupt its jobs.
                guard error.isTransient else { throw error }
                logger.warning(
                    "the definitions could not be read again; the previous ones stay in use for now: \(error)")
                let pause = { @Sendable in try await Task.sleep(for: .seconds(5)) }
                try? await cancelWhenGracefulShutdown(pause)  // Only a shutdown ends it early.
                changes.wake()
            }
        }
    }
}
