import ControlProtocol
import Synchronization

/// The memory, in bytes, that answers may occupy at the same time. One user may have at most three quarters of
/// it, so that some remains for the others.
///
/// Answers of at most ``freeBytes`` do not count, since the number of connections limits them.
final class AnswerMemory: Sendable {
    static let freeBytes = 8 << 10

    private struct State {
        var used = 0
        var byUser: [UInt32: Int] = [:]
    }

    private let limit: Int
    private let limitOfUser: Int
    private let state = Mutex(State())

    init(_ bytes: Int) {
        limit = bytes
        limitOfUser = bytes / 4 * 3
    }

    /// Reserved bytes, returned by ``release()`` or, at the latest, when the last reference goes away.
    final class Hold: Sendable {
        private let memory: AnswerMemory
        private let bytes: Mutex<Int>
        private let user: UInt32

        fileprivate init(_ memory: AnswerMemory, _ bytes: Int, _ user: UInt32) {
            self.memory = memory
            self.bytes = Mutex(bytes)
            self.user = user
        }

        func release() {
            let held = bytes.withLock { bytes in
                defer { bytes = 0 }
                return bytes
            }
            if held > 0 { memory.giveBack(held, user) }
        }

        deinit { release() }
    }

    /// Reserves memory for an answer; returns nil if there is not enough. A user without a reservation may
    /// always have one answer, however large.
    func take(_ bytes: Int, for user: UInt32) -> Hold? {
        let hasRoom = state.withLock { state in
            let own = state.byUser[user, default: 0]
            guard own == 0 || (own + bytes <= limitOfUser && state.used + bytes <= limit) else { return false }
            state.byUser[user] = own + bytes
            state.used += bytes
            return true
        }
        return hasRoom ? Hold(self, bytes, user) : nil
    }

    private func giveBack(_ bytes: Int, _ user: UInt32) {
        state.withLock { state in
            state.used -= bytes
            let rest = state.byUser[user, default: bytes] - bytes
            state.byUser[user] = rest > 0 ? rest : nil
        }
    }

    static let full = ControlProblem(
        .unavailable, "Other callers are still reading large responses. Try again in a moment, or request less at once."
    )
}
