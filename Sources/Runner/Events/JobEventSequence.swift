import DequeModule
import Synchronization

/// The events of one subscription. Only one task may read it at a time.
public struct JobEventSequence: AsyncSequence, Sendable {
    let subscription: JobEventSubscription

    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    /// Reads the events of the subscription.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: JobEventSubscription

        /// Waits for the next event. Returns nil after the runner has ended, or when the reading task is cancelled.
        public mutating func next() async -> JobEvent? { await subscription.buffer.next() }

        /// Waits for the next event. Returns nil after the runner has ended, or when the reading task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> JobEvent? {
            await subscription.buffer.next()
        }
    }
}

/// Removes its buffer from ``JobEvents`` when the last reader is gone.
final class JobEventSubscription: Sendable {
    let buffer: JobEventBuffer
    private let remove: @Sendable () -> Void

    init(buffer: JobEventBuffer, remove: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.remove = remove
    }

    deinit { remove() }
}

/// The events that wait for one reader, at most `capacity`. If there are more, the oldest are dropped.
final class JobEventBuffer: Sendable {
    private struct State {
        var events: Deque<JobEvent> = []
        var missed = 0
        var isFinished = false
        var reader: CheckedContinuation<JobEvent?, Never>?
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) { self.capacity = max(1, capacity) }

    func append(_ event: JobEvent) {
        let reader = state.withLock { state -> CheckedContinuation<JobEvent?, Never>? in
            if let reader = state.reader.take() { return reader }
            if state.events.count == capacity {
                state.events.removeFirst()
                state.missed += 1
            }
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    func finish() {
        let reader = state.withLock { state in
            state.isFinished = true
            return state.reader.take()
        }
        reader?.resume(returning: nil)
    }

    func next() async -> JobEvent? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                let answer = state.withLock { state -> JobEvent?? in
                    if state.missed > 0 {
                        defer { state.missed = 0 }
                        return .missed(state.missed)
                    }
                    if let event = state.events.popFirst() { return event }
                    if state.isFinished || Task.isCancelled { return .some(nil) }
                    precondition(state.reader == nil, "a sequence has only one reader")
                    state.reader = reader
                    return .none
                }
                if let answer { reader.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.reader.take() }?.resume(returning: nil)
        }
    }
}
