import Operations

/// Measures futures on the main actor, where callbacks run inline.
@MainActor
func measureFutures() async -> [Row] {
    var rows: [Row] = []
    let count = 100_000

    rows += await Comparison("a known future and on", .rows(of: 1)) {
        Cost.of(count) {
            let sum = Sum()
            for value in 0..<count { Future(value: value).on { sum.value &+= $0 } }
            keep(sum.value)
        }
    }.rows(to: .task, nanoseconds: 718 / 2, allocations: 0)

    rows += await Comparison("3 maps of a known future", .rows(of: 3)) {
        Cost.of(count) {
            var sum = 0
            for value in 0..<count {
                sum &+= opaque(Future(value: value)).map { $0 &+ 1 }.map { $0 &* 3 }.map { $0 &- 7 }.value ?? 0
            }
            keep(sum)
        }
    }.rows(to: .task, nanoseconds: 2041 / 2, allocations: 0)

    rows += await Comparison("a promise, resolved, and on", .rows(of: 1)) {
        Cost.of(count) {
            let sum = Sum()
            for value in 0..<count {
                let promise = Promise<Int, Never>()
                promise.future.on { sum.value &+= $0 }
                promise.succeed(value: value)
            }
            keep(sum.value)
        }
    }.rows(to: .continuation, nanoseconds: 1162 / 2, allocations: 9 / 2)

    rows += await Comparison("zip of 3 known futures and on", .gathered(3)) {
        Cost.of(count) {
            let sum = Sum()
            for value in 0..<count {
                let future = opaque(Future(value: value))
                Future.zip(future, future, future).on { sum.value &+= $0.0 &+ $0.2 }
            }
            keep(sum.value)
        }
    }.rows(to: .task, nanoseconds: 7079 / 2, allocations: 0)

    rows += await Comparison("zip of 1000 pending futures, each", .gathered(1000)) {
        Cost.of(count) { for _ in 0..<count / 1000 { zip(1000) } }
    }.rows(to: .task, nanoseconds: 5575 / 2, allocations: 21 / 2)
    rows.append(linear("zip of pending futures", count, beside: 1000) { width in Cost.of(width) { zip(width) } })

    // Per element, a promise is created and resolved.
    rows += await Comparison("a chain of 1,000,000 maps, resolved and dropped, each", .chain) {
        Cost.of(1_000_000) { chain(1_000_000) }
    }.rows(to: .task, nanoseconds: 1162 / 2, allocations: 9 / 2)
    rows.append(linear("a chain of maps", 1_000_000, beside: 1000) { length in Cost.of(length) { chain(length) } })
    return rows
}

@MainActor
private func zip(_ width: Int) {
    let sum = Sum()
    let promises = (0..<width).map { _ in Promise<Int, Never>() }
    Future.zip(promises.map(\.future)).on { sum.value &+= $0.count }
    for promise in promises { promise.succeed(value: 1) }
    keep(sum.value)
}

@MainActor
private func chain(_ length: Int) {
    let promise = Promise<Int, Never>()
    var future = promise.future
    for _ in 0..<length { future = future.map { $0 &+ 1 } }
    promise.succeed(value: 0)
    keep(future.value ?? 0)
}

/// SAFETY: Everything that uses it runs on the main thread.
private final class Sum: @unchecked Sendable {
    var value = 0
}

/// Hides the origin of a future from the optimizer.
@inline(never)
private func opaque(_ future: Future<Int, Never>) -> Future<Int, Never> { future }
