import Dispatch
import Foundation
import Operations

/// How the steps of a measurement depend on each other.
enum Shape {
    /// Rows of this many steps, one after the other. Each row is awaited.
    case rows(of: Int)
    /// This many independent steps, all awaited.
    case gathered(Int)
    /// Independent steps, at most this many at a time.
    case backlog(limit: Int)
    /// Each step waits for the previous one.
    case chain
}

/// The four usual ways to carry out the steps.
enum Way: String, CaseIterable {
    case task = "Task"
    case continuation
    case operation = "Operation"
    case queue = "DispatchQueue"

    /// Returns the cost of one element: a row or a step.
    func cost(_ shape: Shape) async -> Cost {
        switch self {
        case .task: await tasks(shape)
        case .continuation: await continuations(shape)
        case .operation: operations(shape)
        case .queue: blocks(shape)
        }
    }
}

private func tasks(_ shape: Shape) async -> Cost {
    let count = 10_000
    return await Cost.of(count) {
        switch shape {
        case .rows(let length):
            for value in 0..<count {
                for _ in 0..<length { keep(await Task { value }.value) }
            }
        case .gathered(let width):
            for _ in 0..<count / width {
                keep(
                    await withTaskGroup(of: Int.self) { group in
                        for value in 0..<width { group.addTask { value } }
                        return await group.reduce(0, &+)
                    })
            }
        case .backlog(let limit):
            await withTaskGroup(of: Void.self) { group in
                for value in 0..<count {
                    if value >= limit { await group.next() }
                    group.addTask { keep(value) }
                }
            }
        case .chain:
            var last = Task { 0 }
            for _ in 0..<count {
                let before = last
                last = Task { await before.value &+ 1 }
            }
            keep(await last.value)
        }
    }
}

/// A continuation can wait in only one way, whatever the shape.
private func continuations(_ shape: Shape) async -> Cost {
    let count = 10_000
    let steps = if case .rows(let length) = shape { length } else { 1 }
    return await Cost.of(count) {
        for value in 0..<count {
            for _ in 0..<steps { keep(await withCheckedContinuation { $0.resume(returning: value) }) }
        }
    }
}

private func operations(_ shape: Shape) -> Cost {
    switch shape {
    case .rows(let length):
        let count = 2000
        let queue = OperationQueue()
        return Cost.of(count) {
            for _ in 0..<count {
                queue.addOperations(row(length, isChain: true) { Operation() }, waitUntilFinished: true)
            }
            queue.waitUntilAllOperationsAreFinished()
        }
    case .gathered(let width):
        let rows = max(2000 / width, 1)
        let queue = OperationQueue()
        return Cost.of(rows * width) {
            for _ in 0..<rows {
                let end = Operation()
                let operations = row(width, isChain: false) { Operation() }
                for operation in operations { end.addDependency(operation) }
                queue.addOperations(operations + [end], waitUntilFinished: false)
                end.waitUntilFinished()
            }
            queue.waitUntilAllOperationsAreFinished()
        }
    case .backlog(let limit): return onFoundation(100_000, limit) { Operation() }
    case .chain: return onFoundation(1000, 8, isChain: true) { Operation() }
    }
}

private func blocks(_ shape: Shape) -> Cost {
    let count = 10_000
    let queue = DispatchQueue.global(qos: .background)
    let done = DispatchSemaphore(value: 0)
    @Sendable func chain(_ length: Int) { queue.async { if length == 1 { done.signal() } else { chain(length - 1) } } }
    return Cost.of(count) {
        switch shape {
        case .rows(let length):
            for _ in 0..<count {
                chain(length)
                done.wait()
            }
        case .gathered(let width):
            for _ in 0..<count / width {
                let group = DispatchGroup()
                for value in 0..<width { queue.async(group: group) { keep(value) } }
                group.wait()
            }
        case .backlog(let limit):
            let group = DispatchGroup()
            let places = DispatchSemaphore(value: limit)
            for value in 0..<count {
                places.wait()
                queue.async(group: group) {
                    keep(value)
                    places.signal()
                }
            }
            group.wait()
        case .chain:
            chain(count)
            done.wait()
        }
    }
}

/// Creates operations. In a chain, each depends on the previous one.
func row(_ count: Int, isChain: Bool, _ make: () -> Operation) -> [Operation] {
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    for _ in 0..<count {
        let operation = make()
        if isChain, let last = operations.last { operation.addDependency(last) }
        operations.append(operation)
    }
    return operations
}

func onFoundation(_ count: Int, _ limit: Int, isChain: Bool = false, _ make: () -> Operation) -> Cost {
    Cost.of(count) {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = limit
        // Keep the operations until the end, so that they are released here and not during the next
        // measurement.
        let operations = row(count, isChain: isChain, make)
        queue.addOperations(operations, waitUntilFinished: false)
        queue.waitUntilAllOperationsAreFinished()
        withExtendedLifetime(operations) {}
    }
}

/// Prevents the optimizer from removing the computation of `value`.
@inline(never)
func keep(_ value: Int) {}
