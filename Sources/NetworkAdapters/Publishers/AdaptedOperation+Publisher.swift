@preconcurrency import OpenCombine
import OperationTypes
import Operations
import Synchronization

extension AdaptedOperation {
    /// From a publisher: the operation's output is its first value, after which the subscription is cancelled. It fails with
    /// `missingValue` when the publisher finishes without one, or is cancelled and the failure type has no word for that.
    public init<P: Publisher>(
        missingValue: Failure, publisher make: @escaping @Sendable (Input, OperationContext) -> P
    ) where P.Output == Output, P.Failure == Failure, P: SendableMetatype {
        self.init(missingResult: cancellationFailure() ?? missingValue) { input, context, completion in
            let subscriber = FirstValue(missingValue: missingValue, completion)
            context.cancellation.register { subscriber.cancel() }
            make(input, context).subscribe(subscriber)
        }
    }
}

/// Takes the first value of a publisher, and its subscription back.
private final class FirstValue<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    /// SAFETY: Exists only inside the mutex below.
    private struct State: @unchecked Sendable {
        var subscription: (any Subscription)?
        /// Nil once called.
        var completion: (@Sendable (Result<Input, Failure>) -> Void)?
    }

    private let missingValue: Failure
    private let state: Mutex<State>

    init(missingValue: Failure, _ completion: @escaping @Sendable (Result<Input, Failure>) -> Void) {
        self.missingValue = missingValue
        state = Mutex(State(completion: completion))
    }

    func receive(subscription: any Subscription) {
        let handoff = Unaudited(subscription)
        let isWanted = state.withLock { state in
            guard state.completion != nil, state.subscription == nil else { return false }
            state.subscription = handoff.value
            return true
        }
        if isWanted { subscription.request(.max(1)) } else { subscription.cancel() }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        end(with: .success(input))
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        switch completion {
        case .finished: end(with: .failure(missingValue))
        case .failure(let failure): end(with: .failure(failure))
        }
    }

    func cancel() { end(with: .failure(missingValue)) }

    private func end(with result: Result<Input, Failure>) {
        let (subscription, completion) = state.withLock { state in
            (Unaudited(state.subscription.take()), state.completion.take())
        }
        subscription.value?.cancel()
        completion?(result)
    }
}
