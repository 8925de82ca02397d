import OperationTypes

// `zip` and `reduce` infer their types from their arguments, so this extension fixes Value and Error.
extension Future where Value == any Sendable, Error == any Swift.Error {
    /// A future that succeeds with both values, or fails with the first failure. If both have already failed, the left
    /// failure counts.
    @inlinable
    public static func zip<V1: Sendable, V2: Sendable, E>(_ first: Future<V1, E>, _ second: Future<V2, E>) -> Future<
        (V1, V2), E
    > {
        switch (first.result, second.result) {
        case (.success(let one), .success(let two)): return Future<(V1, V2), E>(value: (one, two))
        case (.failure(let error), _), (_, .failure(let error)): return Future<(V1, V2), E>(error: error)
        default: return Gathering<Half<V1, V2>, (V1, V2), E>.future(of: first, second)
        }
    }

    /// A future that succeeds with all three values, or fails with the first failure. If several have already failed,
    /// the leftmost failure counts.
    @inlinable
    public static func zip<V1: Sendable, V2: Sendable, V3: Sendable, E>(
        _ first: Future<V1, E>, _ second: Future<V2, E>, _ third: Future<V3, E>
    ) -> Future<(V1, V2, V3), E> {
        zip(zip(first, second), third).map { ($0.0, $0.1, $1) }
    }

    /// A future that succeeds with all values, in the order of the array, or fails with the first failure. If several
    /// have already failed, the leftmost failure counts. If the array is empty, it succeeds at once with no values.
    @inlinable
    public static func zip<V: Sendable, E>(_ futures: [Future<V, E>]) -> Future<[V], E> {
        var values: [V] = []
        values.reserveCapacity(futures.count)
        for future in futures {
            guard case .success(let value)? = future.result else { return Gathering<V, [V], E>.future(of: futures) }
            values.append(value)
        }
        return Future<[V], E>(value: values)
    }

    /// A future that combines all values in the order of the array, once all futures have succeeded. `combine` runs on
    /// the thread that resolves the last of them. The first failure is passed on.
    @inlinable
    public static func reduce<V1: Sendable, V2: Sendable, E>(
        _ initial: V1, _ futures: [Future<V2, E>], _ combine: @escaping @Sendable (V1, V2) -> V1
    ) -> Future<V1, E> {
        zip(futures).map { $0.reduce(initial, combine) }
    }
}
