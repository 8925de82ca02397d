import Operations
import Synchronization

/// Futures beside `Task` and a checked continuation. On the main actor, where callbacks run inline.
@MainActor
func measureFutures() async -> [Row] {
    var rows: [Row] = []
    let count = 100_000

    rows += await compare("a known future and on, beside Task", ours: count, theirs: awaitTasks) {
        var sum = 0
        for value in 0..<count { Future(value: value).on { sum &+= $0 } }
        keep(sum)
    }.rows(nanoseconds: 359, allocations: 0)

    rows += await compare("3 maps of a known future, beside Task", ours: count, theirs: awaitTasks) {
        var sum = 0
        for value in 0..<count {
            sum &+= opaque(Future(value: value)).map { $0 &+ 1 }.map { $0 &* 3 }.map { $0 &- 7 }.value ?? 0
        }
        keep(sum)
    }.rows(nanoseconds: 1020, allocations: 0)

    rows += await compare("a promise, resolved, and on, beside a continuation", ours: count, theirs: awaitContinuations)
    {
        var sum = 0
        for value in 0..<count {
            let promise = Promise<Int, Never>()
            promise.future.on { sum &+= $0 }
            promise.succeed(value: value)
        }
        keep(sum)
    }.rows(nanoseconds: 581, allocations: 4)

    rows += await compare("zip of 3 known futures and on, beside Task", ours: count, theirs: awaitTasks) {
        var sum = 0
        for value in 0..<count {
            let future = opaque(Future(value: value))
            Future.zip(future, future, future).on { sum &+= $0.0 &+ $0.2 }
        }
        keep(sum)
    }.rows(nanoseconds: 3539, allocations: 17)

    rows += await compare("zip of 1000 pending futures, for each, beside Task", ours: count, theirs: awaitTasks) {
        var sum = 0
        for _ in 0..<count / 1000 {
            let promises = (0..<1000).map { _ in Promise<Int, Never>() }
            Future.zip(promises.map(\.future)).on { sum &+= $0.count }
            for promise in promises { promise.succeed(value: 1) }
        }
        keep(sum)
    }.rows(nanoseconds: 2787, allocations: 10)

    rows += await compare(
        "a map in a chain of 1,000,000, resolved and dropped, beside Task", ours: 1_000_000, theirs: awaitTasks
    ) {
        let promise = Promise<Int, Never>()
        var future = promise.future
        for _ in 0..<1_000_000 { future = future.map { $0 &+ 1 } }
        promise.succeed(value: 0)
        keep(future.value ?? 0)
    }.rows(nanoseconds: 1020, allocations: 6)
    return rows
}

@MainActor
private func compare(
    _ name: String, ours count: Int, theirs: @MainActor () async -> Cost, _ body: () -> Void
) async -> Comparison {
    var comparison = Comparison(name)
    for _ in 0..<Comparison.rounds { comparison.add(ours: Cost.of(count, body), theirs: await theirs()) }
    return comparison
}

@MainActor
private func awaitTasks() async -> Cost {
    let count = 10_000
    return await Cost.of(count) {
        for value in 0..<count { keep(await Task { value }.value) }
    }
}

@MainActor
private func awaitContinuations() async -> Cost {
    let count = 10_000
    return await Cost.of(count) {
        for value in 0..<count { keep(await withCheckedContinuation { $0.resume(returning: value) }) }
    }
}

/// Hides from the optimizer where a future comes from.
@inline(never)
private func opaque(_ future: Future<Int, Never>) -> Future<Int, Never> { future }

/// Keeps the optimizer from leaving out what computes `value`.
@inline(never)
func keep(_ value: Int) {}
