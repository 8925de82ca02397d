import Jobs
import ServiceLifecycle

/// Looks at the definitions again whenever they change.
struct DefinitionService: Service {
    let store: any JobStore
    let keeper: DefinitionKeeper

    func run() async throws {
        let changes = Wakeups()
        let observation = store.observe { change in
            switch change {
            case .definitions, .queues: changes.wake()
            case .jobs, .stopped: break
            }
        }
        defer { observation.cancel() }
        for await _ in changes.stream.cancelOnGracefulShutdown() { try await keeper.load() }
    }
}
