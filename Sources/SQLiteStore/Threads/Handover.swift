import Synchronization

/// Moves a value that is not Sendable to the thread that will own it.
///
/// SAFETY: the creator does not use the value again, and ``take()`` returns it once.
final class Handover<Value>: @unchecked Sendable {
    private var value: Value?

    init(_ value: Value) { self.value = value }

    func take() -> Value {
        guard let value else { preconditionFailure("a value is taken out only once") }
        self.value = nil
        return value
    }
}

/// A gate that opens once and then resumes all waiting tasks.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func pass() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
