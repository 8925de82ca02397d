import Dispatch
import Operations
import OperationTypes

/// Measures futures across threads, and the futures of operations. It runs outside the main actor, to which
/// callbacks and tasks would otherwise return.
///
/// The limits in nanoseconds are half of the published library's figures in the same run on two cores: 2546 (18
/// allocations) for `first` of two promises, 1340 (9) for `observe(on:)`, 14000 (17) for `wait()` on a queue.
@concurrent
func measureThreads() async -> [Row] {
    var rows: [Row] = []
    let count = 20_000
    let queue = DispatchQueue(label: "bench.observe")

    rows += await Comparison("first of 2 promises, both resolved", .gathered(2)) {
        Cost.of(count) {
            for value in 0..<count {
                let (one, other) = (Promise<Int, Never>(), Promise<Int, Never>())
                let first = Future.first(one.future, other.future)
                one.succeed(value: value)
                other.succeed(value: value)
                keep(first.value ?? 0)
            }
        }
    }.rows(to: .task, nanoseconds: 2546 / 2, allocations: 18 / 2)

    rows += await Comparison("observe(on:) a queue and on", .rows(of: 1)) {
        Cost.of(count) {
            for value in 0..<count { Future(value: value).observe(on: queue).on { keep($0) } }
            queue.sync {}
        }
    }.rows(to: .queue, nanoseconds: 1340 / 2, allocations: 9 / 2)

    rows += await Comparison("wait() for a promise that another queue resolves", .rows(of: 1)) {
        Cost.of(count) {
            let waiting = DispatchQueue(label: "bench.wait")
            let done = DispatchSemaphore(value: 0)
            waiting.async {
                for value in 0..<count {
                    let promise = Promise<Int, Never>()
                    queue.async { promise.succeed(value: value) }
                    keep(promise.future.wait().get())
                }
                done.signal()
            }
            done.wait()
        }
    }.rows(to: .queue, nanoseconds: 14000 / 2, allocations: 17 / 2)

    rows.append(
        await Comparison("an operation's future, awaited", .rows(of: 1)) {
            await Cost.of(count) {
                for value in 0..<count { keep(await Increment().future(value).get() ?? 0) }
            }
        }.row(to: .task, ratio: 2))
    return rows
}

private struct Increment: TypedOperation {
    func run(_ input: Int, context: OperationContext) async throws(Never) -> Int { input &+ 1 }
}
