import Dispatch
import Foundation
import Operations

/// SAFETY: It adds nothing to its base class.
private final class NoWork: AsyncOperation, @unchecked Sendable {
    override func main() { finish() }
}

/// Operations on Foundation's queue and on ours, and chains of blocks, beside a plain `Operation` and a raw `DispatchQueue`.
func measureQueues() -> [Row] {
    let count = 100_000
    let limits: [(limit: Int, published: Double)] = [(1, 10258), (8, 7745)]
    var rows: [Row] = []
    for (limit, published) in limits {
        rows += compare("AsyncOperation on OperationQueue, limit \(limit), beside Operation") {
            (onFoundation(count, limit) { NoWork() }, onFoundation(count, limit) { Operation() })
        }.rows(nanoseconds: published / 2, allocations: 23)
        rows += compare("AsyncOperation on LinearOperationQueue, limit \(limit), beside Operation") {
            (onOurs(count, limit) { NoWork() }, onFoundation(count, limit) { Operation() })
        }.rows(nanoseconds: published / 2, allocations: 23)
    }
    rows += compare("1000 dependent operations on LinearOperationQueue, beside OperationQueue") {
        (onOurs(1000, 8, isChain: true) { NoWork() }, onFoundation(1000, 8, isChain: true) { NoWork() })
    }.rows(nanoseconds: 164748 / 2, allocations: 46)
    rows += compare("100,000 dependent operations on LinearOperationQueue, beside 1000") {
        (onOurs(count, 8, isChain: true) { NoWork() }, onOurs(1000, 8, isChain: true) { NoWork() })
    }.rows(nanoseconds: 164748 / 2, allocations: 46)
    rows += compare("3 blocks of Async and wait, beside DispatchQueue") {
        (asyncChains(5000), dispatchChains(5000))
    }.rows(nanoseconds: 24477 / 2, allocations: 12)
    return rows
}

private func compare(_ name: String, _ round: () -> (ours: Cost, theirs: Cost)) -> Comparison {
    var comparison = Comparison(name)
    for _ in 0..<Comparison.rounds {
        let (ours, theirs) = round()
        comparison.add(ours: ours, theirs: theirs)
    }
    return comparison
}

private func operations(_ count: Int, _ isChain: Bool, _ make: () -> Operation) -> [Operation] {
    var operations: [Operation] = []
    for _ in 0..<count {
        let operation = make()
        if isChain, let last = operations.last { operation.addDependency(last) }
        operations.append(operation)
    }
    return operations
}

private func onFoundation(_ count: Int, _ limit: Int, isChain: Bool = false, _ make: () -> Operation) -> Cost {
    Cost.of(count) {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = limit
        // Held to the end, so that they are released here, and not while the next measurement runs.
        let operations = operations(count, isChain, make)
        queue.addOperations(operations, waitUntilFinished: false)
        queue.waitUntilAllOperationsAreFinished()
    }
}

private func onOurs(_ count: Int, _ limit: Int, isChain: Bool = false, _ make: () -> Operation) -> Cost {
    Cost.of(count) {
        let queue = LinearOperationQueue()
        queue.maxConcurrentOperationCount = limit
        // Held to the end, so that they are released here, and not while the next measurement runs.
        let operations = operations(count, isChain, make)
        queue.addOperations(operations, waitUntilFinished: false)
        queue.waitUntilAllOperationsAreFinished()
    }
}

private func asyncChains(_ count: Int) -> Cost {
    Cost.of(count) {
        for value in 0..<count {
            Async.background { value }.background { $0 &+ 1 }.background { $0 &+ 1 }.wait()
        }
    }
}

private func dispatchChains(_ count: Int) -> Cost {
    let queue = DispatchQueue.global(qos: .background)
    return Cost.of(count) {
        for _ in 0..<count {
            let done = DispatchSemaphore(value: 0)
            queue.async { queue.async { queue.async { done.signal() } } }
            done.wait()
        }
    }
}
