import Foundation
import OperationTypes
import Synchronization

/// Runs operations of a queue, one after the other, on one thread, until none is ready.
///
/// A worker exists only while it works, and is used only on its own thread.
final class Worker {
    let queue: LinearOperationQueue
    /// The operation whose `start()` was called and has not returned.
    private(set) var handle: QueueState.Handle?

    private init(queue: LinearOperationQueue) { self.queue = queue }

    private static let innermost = ThreadPointer()

    /// The innermost worker of this thread.
    static var current: Worker? {
        innermost.value.map { Unmanaged<Worker>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Runs operations of the queue on this thread.
    ///
    /// - Parameter isSingle: Whether to leave the thread after one operation.
    static func run(for queue: LinearOperationQueue, isSingle: Bool) {
        let worker = Worker(queue: queue)
        let outer = innermost.value
        innermost.value = Unmanaged.passUnretained(worker).toOpaque()
        worker.run(isSingle: isSingle)
        innermost.value = outer
    }

    private func run(isSingle: Bool) {
        while let (handle, operation) = queue.state.withLock({ $0.next() }) {
            // Starts another worker if more operations are ready.
            queue.employ()
            // Foundation traps when one of its own operations is started before it is ready.
            guard operation.isReady || (operation.isCancelled && operation is AsyncOperation) else {
                queue.park(operation, handle)
                continue
            }
            self.handle = handle
            operation.start()
            if !(operation is AsyncOperation) { settle(operation, handle) }
            self.handle = nil
            if isSingle { return queue.employ() }
            queue.state.withLock { $0.search() }
        }
    }

    /// Reports the finish of an operation of a foreign class to the queue, now or when it happens.
    private func settle(_ operation: Operation, _ handle: QueueState.Handle) {
        if operation.isFinished {
            queue.finished(handle)
        } else {
            let queue = queue
            operation.afterFinish { queue.finished(handle) }
        }
    }
}
