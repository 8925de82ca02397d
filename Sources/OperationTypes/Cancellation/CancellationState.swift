import Synchronization

/// The state that a source and its tokens share.
final class CancellationState: Sendable {
    fileprivate struct Entry {
        let id: UInt64
        /// Nil after unregistration. Such entries are removed together later, so that unregistering moves no entries.
        var closure: (@Sendable () -> Void)?
    }

    private struct Registrations {
        /// Sorted by id, since ids only grow.
        var entries: [Entry] = []
        var gaps = 0
        var nextID: UInt64 = 1
        var isOpen = true
    }

    private let registrations = Mutex(Registrations())
    /// Changes only from false to true, under the lock. Read without the lock.
    private let cancelling = Atomic(false)

    var isCancelling: Bool { cancelling.load(ordering: .acquiring) }

    /// Registers a closure, or runs it now if the state is already cancelling.
    ///
    /// - Returns: The number of the registration; 0 if there is nothing to unregister.
    func register(_ closure: @escaping @Sendable () -> Void) -> UInt64 {
        let id = registrations.withLock { state -> UInt64 in
            guard state.isOpen else { return 0 }
            defer { state.nextID += 1 }
            state.entries.append(Entry(id: state.nextID, closure: closure))
            return state.nextID
        }
        if id == 0, isCancelling { closure() }
        return id
    }

    func unregister(_ id: UInt64) {
        // The closure is released after the lock, since releasing its captures may call this object again.
        _ = registrations.withLock { state -> (@Sendable () -> Void)? in
            guard let index = state.entries.index(of: id), let closure = state.entries[index].closure else {
                return nil
            }
            state.entries[index].closure = nil
            state.gaps += 1
            // Once the closures run, entries must keep their positions, so they are removed only before.
            if state.isOpen, state.gaps * 2 > state.entries.count {
                state.entries.removeAll { $0.closure == nil }
                state.gaps = 0
            }
            return closure
        }
    }

    func cancel() {
        let isFirst = registrations.withLock { state in
            defer { state.isOpen = false }
            cancelling.store(true, ordering: .releasing)
            return state.isOpen
        }
        // A second caller returns: another thread has run the closures, or is running them.
        guard isFirst else { return }
        if Nesting.enter() {
            runAll()
            Nesting.leave()
        } else {
            Nesting.postpone { self.runAll() }
        }
    }

    private func runAll() {
        var position = 0
        while let closure = take(from: &position) { closure() }
    }

    /// Removes and returns the first closure at or after a position.
    private func take(from position: inout Int) -> (@Sendable () -> Void)? {
        registrations.withLock { state in
            while position < state.entries.count {
                defer { position += 1 }
                if let closure = state.entries[position].closure.take() { return closure }
            }
            state.entries = []
            return nil
        }
    }

    /// Releases the closures and accepts no more, because nothing is left that could cancel.
    func abandon() {
        _ = registrations.withLock { state in
            state.isOpen = false
            defer { state.entries = [] }
            return state.entries
        }
    }

    /// The number of entries, including unregistered ones that were not removed yet.
    var capacityInUse: Int { registrations.withLock { $0.entries.count } }
}

extension [CancellationState.Entry] {
    fileprivate func index(of id: UInt64) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].id == id ? low : nil
    }
}
