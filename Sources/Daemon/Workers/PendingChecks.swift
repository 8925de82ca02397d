import Jobs
import Synchronization
import Workers

/// The programs that reloads have started to learn their kinds, and that have not introduced themselves yet.
final class PendingChecks: Sendable {
    /// A program, and when the reload gives up waiting for it.
    struct Check: Sendable {
        let program: WorkerProgram
        let until: Timestamp
    }

    private struct State {
        /// The checks by their numbers, since reloads can overlap.
        var checks: [Int: Check] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// - Returns: The number for ``end(_:)``.
    func begin(_ program: WorkerProgram, now: Timestamp) -> Int {
        state.withLock { state in
            state.last += 1
            state.checks[state.last] = Check(program: program, until: now + WorkerHost.introductionLimit)
            return state.last
        }
    }

    func end(_ number: Int) { state.withLock { $0.checks[number] = nil } }

    /// The checks, the oldest first, and at most one for each program.
    var all: [Check] {
        var names: Set<String> = []
        let checks = state.withLock(\.checks).sorted { $0.key < $1.key }.map(\.value)
        return checks.filter { names.insert($0.program.name).inserted }
    }
}
