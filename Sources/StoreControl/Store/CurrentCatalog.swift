import Jobs
import Synchronization

/// The catalog of the current definitions. It is cached and read again only after a change.
public final class CurrentCatalog: Sendable {
    private struct State {
        var catalog: Catalog?
        /// The catalog that was read last, even if it is outdated.
        var earlier: Catalog?
        /// Counts changes, so that a catalog that was read before a change is not cached after it.
        var changes = 0
        var observation: StoreObservation?
    }

    private let store: any JobStore
    private let state = Mutex(State())

    /// Creates a cache that observes the store's changes.
    public init(store: any JobStore) {
        self.store = store
        let observation = store.observe { [weak self] change in
            switch change {
            case .definitions, .queues, .schedules, .missed: self?.forget()
            case .jobs, .accepted, .work, .holders, .condition, .stopped: break
            }
        }
        state.withLock { $0.observation = observation }
    }

    /// Drops the cached catalog, so that the next caller of ``read()`` reads it again.
    package func forget() {
        state.withLock {
            $0.catalog = nil
            $0.changes += 1
        }
    }

    /// Returns the catalog, and reads the definitions only if they have changed.
    ///
    /// - Throws: `StoreError`. Retrying is safe.
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
