@preconcurrency import OpenCombine
import OperationTypes
import Operations
import Synchronization

extension TypedOperation {
    /// A publisher of the operation's output. Each subscription starts one run when it first demands a value.
    ///
    /// Cancelling the subscription cancels the run, and no value or failure arrives after that. Values and failures
    /// arrive on an unspecified thread.
    public func publisher(_ input: Input) -> OperationPublisher<Self> { OperationPublisher(work: self, input: input) }
}

/// Publishes the output of one run of an operation for each subscriber.
public struct OperationPublisher<Work: TypedOperation>: Publisher, Sendable {
    public typealias Output = Work.Output
    public typealias Failure = Work.Failure

    let work: Work
    let input: Work.Input

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
        let subscription = OperationSubscription(work, input) { result, isCancelled in
            switch result {
            case .success(let output):
                _ = subscriber.receive(output)
                // The subscriber may have cancelled when it received the value.
                if !isCancelled() { subscriber.receive(completion: .finished) }
            case .failure(let failure):
                subscriber.receive(completion: .failure(failure))
            }
        }
        subscriber.receive(subscription: subscription)
    }
}

private final class OperationSubscription<Work: TypedOperation>: Subscription, Sendable {
    /// Passes the result to the subscriber. Between the value and the completion, it checks whether the subscriber has
    /// cancelled.
    typealias Receive = (Result<Work.Output, Work.Failure>, _ isCancelled: () -> Bool) -> Void

    /// SAFETY: Exists only inside the mutex below.
    private struct State: @unchecked Sendable {
        /// Nil after the subscriber has received the result or has cancelled.
        var receive: Receive?
        var run: CancellationTokenSource?
        var isCancelled = false
    }

    private let work: Work
    private let input: Work.Input
    private let state: Mutex<State>

    init(_ work: Work, _ input: Work.Input, _ receive: @escaping Receive) {
        self.work = work
        self.input = input
        state = Mutex(State(receive: receive))
    }

    func request(_ demand: Subscribers.Demand) {
        guard demand > .none else { return }
        let run = state.withLock { state -> CancellationTokenSource? in
            guard state.receive != nil, state.run == nil else { return nil }
            let run = CancellationTokenSource()
            state.run = run
            return run
        }
        guard let run else { return }
        work.start(input, cancellation: run.token) { self.end(with: $0) }
    }

    func cancel() {
        // The subscriber is released after the lock, since its deinitializer may call this object again.
        let (receive, run) = state.withLock { state in
            state.isCancelled = true
            return (Unaudited(state.receive.take()), state.run)
        }
        withExtendedLifetime(receive) {}
        run?.cancel()
    }

    private func end(with result: Result<Work.Output, Work.Failure>) {
        let receive = state.withLock { Unaudited($0.receive.take()) }.value
        receive?(result) { state.withLock { $0.isCancelled } }
    }
}
