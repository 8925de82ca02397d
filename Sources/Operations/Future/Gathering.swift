import Synchronization

/// Collects the values of two futures.
@usableFromInline
final class Pair<V1: Sendable, V2: Sendable, E: Error>: Abandonable {
    @usableFromInline
    enum Half: Sendable {
        case first(V1)
        case second(V2)
    }

    @usableFromInline
    struct Halves: Sendable {
        @usableFromInline var first: V1?
        @usableFromInline var second: V2?
        /// The number of missing halves. If it is 0 and the pair is unresolved, the pair will never be resolved.
        @usableFromInline var missing: Int
        /// Nil once resolved.
        @usableFromInline var target: Settlement<(V1, V2), E>?

        @inlinable
        init(target: Settlement<(V1, V2), E>) {
            self.target = target
            missing = 2
        }
    }

    @usableFromInline let halves: Mutex<Halves>

    @inlinable
    init(target: Settlement<(V1, V2), E>) { halves = Mutex(Halves(target: target)) }

    @inlinable
    static func future(of first: Future<V1, E>, _ second: Future<V2, E>) -> Future<(V1, V2), E> {
        let target = Settlement<(V1, V2), E>()
        let pair = Pair(target: target)
        first.receive(for: pair) { Self.of($1).put($0.map(Half.first), &$2) }
        second.receive(for: pair) { Self.of($1).put($0.map(Half.second), &$2) }
        return Future<(V1, V2), E>(target)
    }

    /// SAFETY: The target of a handler is the object that it was created with.
    @inlinable
    static func of(_ target: AnyObject) -> Pair { unsafeDowncast(target, to: Pair.self) }

    @inlinable
    func put(_ half: Result<Half, E>, _ chain: inout Chain) {
        var outcome: Result<(V1, V2), E>?
        let target = halves.withLock { halves -> Settlement<(V1, V2), E>? in
            guard halves.target != nil else { return nil }
            halves.missing -= 1
            switch half {
            case .failure(let error): outcome = .failure(error)
            case .success(.first(let value)): halves.first = value
            case .success(.second(let value)): halves.second = value
            }
            if let first = halves.first, let second = halves.second { outcome = .success((first, second)) }
            guard outcome != nil || halves.missing == 0 else { return nil }
            halves.first = nil
            halves.second = nil
            return halves.target.take()
        }
        guard let target else { return }
        if let outcome { target.settle(outcome, &chain) } else { Abandonment.of(target) }
    }

    @usableFromInline
    func abandon(_ abandonment: inout Abandonment) {
        let target = halves.withLock { halves in
            halves.missing -= 1
            return halves.missing == 0 ? halves.target.take() : nil
        }
        abandonment.add(target.map(Dependent.init))
    }
}

/// Collects the values of many futures, each at its index.
@usableFromInline
final class Gathering<V: Sendable, E: Error>: Abandonable {
    @usableFromInline
    struct Places: Sendable {
        @usableFromInline var values: [V?]
        /// The number of missing values.
        @usableFromInline var missing: Int
        /// Whether a value is missing that will never be supplied.
        @usableFromInline var isIncomplete: Bool
        /// Nil once resolved.
        @usableFromInline var target: Settlement<[V], E>?

        @inlinable
        init(count: Int, target: Settlement<[V], E>) {
            values = Array(repeating: nil, count: count)
            missing = count
            isIncomplete = false
            self.target = target
        }
    }

    @usableFromInline let places: Mutex<Places>

    @inlinable
    init(count: Int, target: Settlement<[V], E>) { places = Mutex(Places(count: count, target: target)) }

    @inlinable
    static func future(of futures: [Future<V, E>]) -> Future<[V], E> {
        let target = Settlement<[V], E>()
        let gathering = Gathering(count: futures.count, target: target)
        for (index, future) in futures.enumerated() {
            // SAFETY: The target of a handler is the object that it was created with.
            future.receive(for: gathering) { unsafeDowncast($1, to: Gathering.self).put($0, at: index, &$2) }
            // A failure decides the result, so the remaining futures need no handlers.
            if case .failure? = target.result { break }
        }
        return Future<[V], E>(target)
    }

    @inlinable
    func put(_ result: Result<V, E>, at index: Int, _ chain: inout Chain) {
        var outcome: Result<[V], E>?
        let target = places.withLock { places -> Settlement<[V], E>? in
            guard places.target != nil else { return nil }
            switch result {
            case .failure(let error):
                outcome = .failure(error)
            case .success(let value):
                places.values[index] = value
                places.missing -= 1
                guard places.missing == 0 else { return nil }
                if !places.isIncomplete { outcome = .success(places.values.compactMap { $0 }) }
            }
            places.values = []
            return places.target.take()
        }
        guard let target else { return }
        if let outcome { target.settle(outcome, &chain) } else { Abandonment.of(target) }
    }

    @usableFromInline
    func abandon(_ abandonment: inout Abandonment) {
        let target = places.withLock { places in
            places.missing -= 1
            places.isIncomplete = true
            return places.missing == 0 ? places.target.take() : nil
        }
        abandonment.add(target.map(Dependent.init))
    }
}
