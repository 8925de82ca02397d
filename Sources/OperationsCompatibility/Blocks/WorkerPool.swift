import Dispatch
import Foundation
import OperationTypes
import Synchronization

/// The links that wait for the global queue of one class, and the threads of that queue that run them.
///
/// Waking a thread costs more than most blocks do. A thread that finds no link therefore spins for a few
/// microseconds before it returns to the queue.
///
/// 1. While links wait, a thread is about to take one (`isExpected`).
/// 2. A thread that takes a link while others wait first requests another thread, so that a block may wait for a later
///    one.
@usableFromInline
final class WorkerPool: Sendable {
    private struct State {
        var links = Fifo<AnyLink>()
        var isExpected = false
    }

    private enum Next {
        case take(AnyLink, isOtherNeeded: Bool)
        case spin
        case leave
    }

    /// How many times a thread looks for a link, or for the end of a link, before it leaves or sleeps. All looks together
    /// take two microseconds, about as long as sleeping and waking up. Zero if only one thread can run at a time.
    @usableFromInline static let spins = ProcessInfo.processInfo.activeProcessorCount > 1 ? 4000 : 0

    let queue: DispatchQueue
    private let state = Mutex(State())
    /// The number of links that wait. Written under the lock; read without it.
    private let waiting = Atomic(0)

    private init(_ qos: DispatchQoS.QoSClass) { queue = .global(qos: qos) }

    private static let userInteractive = WorkerPool(.userInteractive)
    private static let userInitiated = WorkerPool(.userInitiated)
    private static let utility = WorkerPool(.utility)
    private static let background = WorkerPool(.background)
    private static let `default` = WorkerPool(.default)

    static func of(_ qos: DispatchQoS.QoSClass) -> WorkerPool {
        switch qos {
        case .userInteractive: userInteractive
        case .userInitiated: userInitiated
        case .utility: utility
        case .background: background
        default: `default`
        }
    }

    func add(_ link: AnyLink) {
        let isThreadNeeded = state.withLock { state in
            state.links.append(link)
            waiting.add(1, ordering: .relaxed)
            defer { state.isExpected = true }
            return !state.isExpected
        }
        if isThreadNeeded { sendThread() }
    }

    private func sendThread() { queue.async { self.work() } }

    private func work() {
        var isExpected = true
        while true {
            switch next(isExpected: isExpected) {
            case .take(let link, let isOtherNeeded):
                isExpected = false
                if isOtherNeeded { sendThread() }
                link.run()
            case .spin:
                isExpected = true
                guard spin() else { return }
            case .leave: return
            }
        }
    }

    /// Decides what the calling thread does next.
    ///
    /// - Parameter isExpected: Whether the calling thread is the expected one.
    private func next(isExpected: Bool) -> Next {
        state.withLock { state in
            guard let link = state.links.popFirst() else {
                if state.isExpected, !isExpected { return .leave }
                state.isExpected = true
                return .spin
            }
            waiting.subtract(1, ordering: .relaxed)
            if isExpected { state.isExpected = false }
            let isOtherNeeded = !state.links.isEmpty && !state.isExpected
            if isOtherNeeded { state.isExpected = true }
            return .take(link, isOtherNeeded: isOtherNeeded)
        }
    }

    /// Looks repeatedly for a link, for a few microseconds.
    ///
    /// - Returns: Whether there is one. If not, the calling thread is no longer expected.
    private func spin() -> Bool {
        for _ in 0..<Self.spins where waiting.load(ordering: .relaxed) > 0 { return true }
        return state.withLock { state in
            state.isExpected = !state.links.isEmpty
            return state.isExpected
        }
    }
}
