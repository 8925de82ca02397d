import Jobs
import Logging
import Runner
import ServiceLifecycle

/// Reads and checks the definitions again whenever they change.
struct DefinitionService: Service {
    let store: any JobStore
    let runner: JobRunner
    let keeper: DefinitionKeeper
    let logger: Logger

    func run() async throws {
        let changes = Wakeups()
        let observation = store.observe { change in
            switch change {
            case .definitions, .queues, .missed: changes.wake()
            case .jobs, .accepted, .work, .schedules, .holders, .condition, .stopped: break
            }
        }
        defer { observation.cancel() }
        try await changes.forEach(retryingAfter: .seconds(5)) { error in
            logger.warning(
                "the definitions could not be read again; the previous ones stay in use for now: \(error)")
        } _: { () throws(StoreError) in
            try await keeper.load(by: try await runner.begin())
        }
    }
}
