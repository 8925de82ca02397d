import Synchronization

/// Two values on their way.
@usableFromInline
final class Pair<V1, V2, E: Error>: Abandonable {
    @usableFromInline
    enum Half {
        case first(V1)
        case second(V2)
    }

    /// SAFETY: Exists only inside the mutex below.
    @usableFromInline
    struct Halves: @unchecked Sendable {
        @usableFromInline var first: V1?
        @usableFromInline var second: V2?
        /// Nil once resolved.
        @usableFromInline var target: Promise<(V1, V2), E>?

        @inlinable
        init(target: Promise<(V1, V2), E>) { self.target = target }
    }

    @usableFromInline let halves: Mutex<Halves>

    @inlinable
    init(target: Promise<(V1, V2), E>) { halves = Mutex(Halves(target: target)) }

    @inlinable
    static func future(of first: Future<V1, E>, _ second: Future<V2, E>) -> Future<(V1, V2), E> {
        let target = Promise<(V1, V2), E>()
        let pair = Pair(target: target)
        first.receive(for: pair) { Self.of($1).put($0.map(Half.first), &$2) }
        second.receive(for: pair) { Self.of($1).put($0.map(Half.second), &$2) }
        return Future<(V1, V2), E>(target)
    }

    /// SAFETY: The target of a handler is what it was made with.
    @inlinable
    static func of(_ target: AnyObject) -> Pair { unsafeDowncast(target, to: Pair.self) }

    @inlinable
    func put(_ half: Result<Half, E>, _ chain: inout Chain) {
        var outcome: Result<(V1, V2), E>?
        let target = halves.withLock { halves -> Promise<(V1, V2), E>? in
            switch half {
            case .failure(let error): outcome = .failure(error)
            case .success(.first(let value)): halves.first = value
            case .success(.second(let value)): halves.second = value
            }
            if let first = halves.first, let second = halves.second { outcome = .success((first, second)) }
            guard outcome != nil else { return nil }
            halves.first = nil
            halves.second = nil
            return halves.target.take()
        }
        if let target, let outcome { target.settle(outcome, &chain) }
    }

    @usableFromInline
    func abandon(into remains: inout Remains) {
        var target = halves.withLock { $0.target.take() as AnyObject? }
        remains.take(&target)
    }
}

/// Many values on their way, each to its place.
@usableFromInline
final class Gathering<V, E: Error>: Abandonable {
    /// SAFETY: Exists only inside the mutex below.
    @usableFromInline
    struct Places: @unchecked Sendable {
        @usableFromInline var values: [V?]
        @usableFromInline var missing: Int
        /// Nil once resolved.
        @usableFromInline var target: Promise<[V], E>?

        @inlinable
        init(count: Int, target: Promise<[V], E>) {
            values = Array(repeating: nil, count: count)
            missing = count
            self.target = target
        }
    }

    @usableFromInline let places: Mutex<Places>

    @inlinable
    init(count: Int, target: Promise<[V], E>) { places = Mutex(Places(count: count, target: target)) }

    @inlinable
    static func future(of futures: [Future<V, E>]) -> Future<[V], E> {
        let target = Promise<[V], E>()
        let gathering = Gathering(count: futures.count, target: target)
        for (index, future) in futures.enumerated() {
            // SAFETY: The target of a handler is what it was made with.
            future.receive(for: gathering) { unsafeDowncast($1, to: Gathering.self).put($0, at: index, &$2) }
            // One that failed already decides, and the rest need not be waited for.
            if case .failure? = target.result { break }
        }
        return Future<[V], E>(target)
    }

    @inlinable
    func put(_ result: Result<V, E>, at index: Int, _ chain: inout Chain) {
        var outcome: Result<[V], E>?
        let target = places.withLock { places -> Promise<[V], E>? in
            guard places.target != nil else { return nil }
            switch result {
            case .failure(let error):
                outcome = .failure(error)
            case .success(let value):
                places.values[index] = value
                places.missing -= 1
                guard places.missing == 0 else { return nil }
                outcome = .success(places.values.compactMap { $0 })
            }
            places.values = []
            return places.target.take()
        }
        if let target, let outcome { target.settle(outcome, &chain) }
    }

    @usableFromInline
    func abandon(into remains: inout Remains) {
        var target = places.withLock { $0.target.take() as AnyObject? }
        remains.take(&target)
    }
}
