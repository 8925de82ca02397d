import NIOPosix
import Synchronization

extension NIOThreadPool {
    /// Runs blocking work on one of the pool's threads.
    ///
    /// If the task is cancelled, this throws at once: work that has started runs to its end, and its result is dropped.
    ///
    /// - Throws: `CancellationError`, also if the pool is shut down.
    func runAbandoningOnCancel<T: Sendable>(_ work: @escaping @Sendable () -> T) async throws(CancellationError) -> T {
        let slot = Slot<T>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                slot.wait(with: continuation)
                submit { state in
                    if slot.isFilled { return }
                    slot.fill(state == .active ? .success(work()) : .failure(CancellationError()))
                }
            }
        } onCancel: {
            slot.fill(.failure(CancellationError()))
        }
        return try result.get()
    }
}

/// Holds one result. The first result counts, and the waiting task resumes exactly once.
private final class Slot<T: Sendable>: Sendable {
    typealias Answer = Result<T, CancellationError>
    private enum State {
        case empty
        case waiting(CheckedContinuation<Answer, Never>)
        case filled(Answer)
        case taken
    }
    private let state = Mutex(State.empty)

    /// Whether there is a result already, so that the work is no longer needed.
    var isFilled: Bool {
        state.withLock { state in
            switch state {
            case .empty, .waiting: false
            case .filled, .taken: true
            }
        }
    }

    func wait(with continuation: CheckedContinuation<Answer, Never>) {
        let answer = state.withLock { state -> Answer? in
            guard case .filled(let answer) = state else {
                state = .waiting(continuation)
                return nil
            }
            state = .taken
            return answer
        }
        if let answer { continuation.resume(returning: answer) }
    }

    func fill(_ answer: Answer) {
        let continuation = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            switch state {
            case .empty:
                state = .filled(answer)
                return nil
            case .waiting(let continuation):
                state = .taken
                return continuation
            case .filled, .taken:
                return nil
            }
        }
        continuation?.resume(returning: answer)
    }
}
