import Synchronization

/// Collects the values of several futures, each at its index, and combines them.
@usableFromInline
final class Gathering<V: Sendable, Output: Sendable, E: Error>: PromiseDependent {
    @usableFromInline
    struct State: Sendable {
        @usableFromInline var values: [V?]
        /// The number of missing values.
        @usableFromInline var missing: Int
        /// Whether a value is missing that will never be supplied.
        @usableFromInline var isIncomplete: Bool
        /// Nil once resolved.
        @usableFromInline var target: Settlement<Output, E>?

        @inlinable
        init(count: Int, target: Settlement<Output, E>) {
            values = Array(repeating: nil, count: count)
            missing = count
            isIncomplete = false
            self.target = target
        }
    }

    @usableFromInline let state: Mutex<State>
    @usableFromInline let combine: @Sendable ([V]) -> Output

    @inlinable
    init(count: Int, target: Settlement<Output, E>, _ combine: @escaping @Sendable ([V]) -> Output) {
        state = Mutex(State(count: count, target: target))
        self.combine = combine
    }

    @inlinable
    func put(_ result: Result<V, E>, at index: Int, _ chain: inout Chain) {
        var outcome: Result<[V], E>?
        let target = state.withLock { state -> Settlement<Output, E>? in
            guard state.target != nil else { return nil }
            switch result {
            case .failure(let error):
                outcome = .failure(error)
            case .success(let value):
                state.values[index] = value
                state.missing -= 1
                guard state.missing == 0 else { return nil }
                if !state.isIncomplete { outcome = .success(state.values.compactMap { $0 }) }
            }
            state.values = []
            return state.target.take()
        }
        guard let target else { return }
        if let outcome { target.settle(outcome.map(combine), &chain) } else { BrokenPromise.of(target) }
    }

    @usableFromInline
    func promiseBroke(_ broken: inout BrokenPromise) {
        let target = state.withLock { state in
            state.missing -= 1
            state.isIncomplete = true
            return state.missing == 0 ? state.target.take() : nil
        }
        broken.add(target.map(Dependent.init))
    }

    /// SAFETY: The target of a handler is the object that it was created with.
    @inlinable
    static func of(_ target: AnyObject) -> Gathering { unsafeDowncast(target, to: Gathering.self) }
}

extension Gathering where Output == [V] {
    @inlinable
    static func future(of futures: [Future<V, E>]) -> Future<[V], E> {
        let target = Settlement<[V], E>()
        let gathering = Gathering(count: futures.count, target: target) { $0 }
        for (index, future) in futures.enumerated() {
            future.receive(for: gathering) { Self.of($1).put($0, at: index, &$2) }
            // A failure decides the result, so the remaining futures need no handlers.
            if case .failure? = target.result { break }
        }
        return Future<[V], E>(target)
    }
}

/// One of two values of different types.
@usableFromInline
enum Half<V1: Sendable, V2: Sendable>: Sendable {
    case first(V1)
    case second(V2)
}

extension Gathering {
    @inlinable
    static func future<V1, V2>(of first: Future<V1, E>, _ second: Future<V2, E>) -> Future<(V1, V2), E>
    where V == Half<V1, V2>, Output == (V1, V2) {
        let target = Settlement<(V1, V2), E>()
        let gathering = Gathering(count: 2, target: target) { halves in
            guard case .first(let one) = halves[0], case .second(let two) = halves[1] else {
                preconditionFailure("each half has its index")
            }
            return (one, two)
        }
        first.receive(for: gathering) { Self.of($1).put($0.map(Half.first), at: 0, &$2) }
        second.receive(for: gathering) { Self.of($1).put($0.map(Half.second), at: 1, &$2) }
        return Future<(V1, V2), E>(target)
    }
}
