import Synchronization

/// A limited number of permits, of which one user may have only some. A request is refused if no permit is
/// free.
final class Permits: Sendable {
    private struct State {
        var taken = 0
        var ofUser: [UInt32: Int] = [:]
    }

    private let limit: Int
    private let limitOfUser: Int
    private let state = Mutex(State())

    /// - Parameter limitOfUser: The number of permits that one user may have; nil for all.
    init(_ limit: Int, ofOneUser limitOfUser: Int? = nil) {
        self.limit = limit
        self.limitOfUser = limitOfUser ?? limit
    }

    /// A permit, which returns to the pool when it is released.
    final class Permit: Sendable {
        private let permits: Permits
        private let user: UInt32?

        fileprivate init(_ permits: Permits, _ user: UInt32?) {
            self.permits = permits
            self.user = user
        }

        deinit { permits.giveBack(user) }
    }

    /// - Parameter user: The user whose permits are counted; nil if users are not distinguished.
    func take(for user: UInt32? = nil) -> Permit? {
        let isFree = state.withLock { state in
            guard state.taken < limit else { return false }
            if let user {
                guard state.ofUser[user, default: 0] < limitOfUser else { return false }
                state.ofUser[user, default: 0] += 1
            }
            state.taken += 1
            return true
        }
        return isFree ? Permit(self, user) : nil
    }

    private func giveBack(_ user: UInt32?) {
        state.withLock { state in
            state.taken -= 1
            guard let user else { return }
            let rest = state.ofUser[user, default: 1] - 1
            state.ofUser[user] = rest > 0 ? rest : nil
        }
    }
}
