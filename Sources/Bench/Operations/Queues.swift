import Dispatch
import Foundation
import Operations
import OperationsCompatibility
import Synchronization

/// SAFETY: It adds nothing to its base class.
private final class NoWork: AsyncOperation, @unchecked Sendable {
    override func main() { finish() }
}

/// Measures operations on Foundation's queue and on ours, and chains of blocks.
func measureQueues() async -> [Row] {
    let count = 100_000
    let limits: [(limit: Int, published: Double)] = [(1, 10258), (8, 7745)]
    var rows: [Row] = []
    for (limit, published) in limits {
        rows += await Comparison("AsyncOperation on OperationQueue, limit \(limit)", .backlog(limit: limit)) {
            onFoundation(count, limit) { NoWork() }
        }.rows(to: .operation, nanoseconds: published / 2, allocations: 46 / 2)
        rows += await Comparison("AsyncOperation on LinearOperationQueue, limit \(limit)", .backlog(limit: limit)) {
            onOurs(count, limit)
        }.rows(to: .operation, nanoseconds: published / 2, allocations: 46 / 2)
    }
    rows += await Comparison("1000 dependent ones on LinearOperationQueue", .chain) {
        onOurs(1000, 8, isChain: true)
    }.rows(to: .operation, nanoseconds: 164748 / 2, allocations: 46 / 2)
    rows.append(
        linear("dependent ones on LinearOperationQueue", count, beside: 1000) { onOurs($0, 8, isChain: true) })
    rows += await Comparison("3 blocks of Async and wait", .rows(of: 3)) {
        let count = 5000
        return Cost.of(count) {
            for value in 0..<count {
                Async.background { value }.background { $0 &+ 1 }.background { $0 &+ 1 }.wait()
            }
        }
    }.rows(to: .queue, nanoseconds: 24477 / 2, allocations: 25 / 2)
    // A plain block on a queue takes 0.4 of the published library's time, so the limit of 1.25 is half of that
    // time.
    let unawaited = await Comparison("blocks of Async, none awaited, each", .gathered(1000)) {
        let remaining = Remaining(count)
        return Cost.of(count) {
            for value in 0..<count {
                Async.background {
                    keep(value)
                    remaining.step()
                }
            }
            remaining.wait()
        }
    }
    rows += [unawaited.row(to: .queue, ratio: 1.25), unawaited.row(to: .queue, allocations: 9 / 2)]
    let serial = DispatchQueue(label: "bench.async")
    let ordered = await Comparison("blocks of Async on a serial queue, none awaited, each", .gathered(1000)) {
        Cost.of(count) {
            for value in 0..<count { Async.custom(queue: serial) { keep(value) } }
            serial.sync {}
        }
    }
    rows += [ordered.row(to: .queue, ratio: 1.5), ordered.row(to: .queue, allocations: 8 / 2)]
    return rows
}

/// Counts steps that other threads carry out, and waits for the last one.
private final class Remaining: Sendable {
    private let number: Atomic<Int>
    private let done = DispatchSemaphore(value: 0)

    init(_ number: Int) { self.number = Atomic(number) }

    func step() {
        if number.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() }
    }

    func wait() { done.wait() }
}

private func onOurs(_ count: Int, _ limit: Int, isChain: Bool = false) -> Cost {
    Cost.of(count) {
        let queue = LinearOperationQueue()
        queue.maxConcurrentOperationCount = limit
        // Keep the operations until the end, so that they are released here and not during the next
        // measurement.
        let operations = row(count, isChain: isChain) { NoWork() }
        queue.addOperations(operations, waitUntilFinished: false)
        queue.waitUntilAllOperationsAreFinished()
        withExtendedLifetime(operations) {}
    }
}
