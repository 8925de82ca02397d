@preconcurrency import OpenCombine
import OperationTypes
import Operations
import Synchronization

extension AdaptedOperation {
    /// Adapts a publisher. The output is the publisher's first value, after which the subscription is cancelled. A run
    /// fails with `missingValue` if the publisher finishes without a value. A cancelled run fails with the failure
    /// type's value for cancellation or, if there is none, with `missingValue`.
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

/// Receives the first value of a publisher, and then cancels the subscription.
private final class FirstValue<Input: Sendable, Failure: Error>: Subscriber, Sendable {
    /// SAFETY: Exists only inside the mutex below.
    private struct State: @unchecked Sendable {
        var subscription: (any Subscription)?
        /// Nil after it was called.
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
