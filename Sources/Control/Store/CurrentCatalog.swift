import Jobs
import Synchronization

/// The catalog of the definitions as they are, read again only after they changed.
public final class CurrentCatalog: Sendable {
    private struct State {
        var catalog: Catalog?
        /// Read last, however old.
        var earlier: Catalog?
        /// Counts changes, so that what was read before one is not kept after it.
        var changes = 0
        var observation: StoreObservation?
    }

    private let store: any JobStore
    private let state = Mutex(State())

    public init(store: any JobStore) {
        self.store = store
        let observation = store.observe { [weak self] change in
            switch change {
            case .definitions, .queues, .schedules: self?.forget()
            case .jobs, .accepted, .writing, .stuck, .stopped: break
            }
        }
        state.withLock { $0.observation = observation }
    }

    /// Makes the next reader read the catalog again.
    package func forget() {
        state.withLock {
            $0.catalog = nil
            $0.changes += 1
        }
    }

    public func read() async throws(StoreError) -> Catalog {
        let (known, earlier, changes) = state.withLock { ($0.catalog, $0.earlier, $0.changes) }
        if let known { return known }
        let catalog = Catalog(try await store.definitions(), after: earlier)
        state.withLock { state in
            guard state.changes == changes else { return }
            (state.catalog, state.earlier) = (catalog, catalog)
        }
        return catalog
    }
}
