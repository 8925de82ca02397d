import Control
import Synchronization

/// The bytes that answers may occupy at once. One user may have at most three quarters of them, so that others always
/// get some.
///
/// Answers of at most ``freeBytes`` do not count: the number of connections bounds them.
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

    /// Reserves bytes for an answer; nil when there is no room. A user who has none may always have one answer, however
    /// large.
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
        .unavailable, "Other callers are still reading large answers. Try again in a moment, or request less at once.")
}
