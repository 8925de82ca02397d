import Dispatch
import Foundation
import OperationTypes
import Synchronization

/// A queue of Foundation operations with the interface of `OperationQueue`, whose cost per operation stays the same however
/// many wait: chains and backlogs of any length take linear time.
///
/// It takes every `Operation`. Priorities order what is ready, and are read when an operation becomes ready and when it is
/// its turn; equal ones keep the order of addition. Two things are known only of ``AsyncOperation`` and its subclasses, since
/// Foundation tells nobody: an operation that was cancelled while it waits for others starts, and finishes, at once; and
/// its finish is seen whoever replaces its completion block. A subclass that overrides `isReady` is asked again whenever
/// another operation finishes or is added.
///
/// What the `main()` of an operation does after its finish still takes the thread, and delays what comes next.
public final class LinearOperationQueue: Sendable {
    public static let defaultMaxConcurrentOperationCount = -1

    let state: Mutex<QueueState>
    /// Held to count in the progress, which many threads do and which has no lock of its own.
    private let counting = Mutex(())

    public init() { state = Mutex(QueueState()) }

    // MARK: Adding

    /// - Precondition: The operation is in no queue and has not started.
    public func addOperation(_ operation: Operation) {
        addOperations([operation], waitUntilFinished: false)
    }

    public func addOperation(_ block: @escaping @Sendable () -> Void) {
        addOperation(BlockOperation(block: block))
    }

    public func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        for operation in operations { add(operation, isBarrier: false) }
        if wait {
            for operation in operations { operation.waitUntilFinished() }
        }
    }

    /// Runs `barrier` alone: after everything that was added before, and before everything that is added after.
    public func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        add(BlockOperation(block: barrier), isBarrier: true)
    }

    // MARK: Settings

    /// How many operations execute at once; the default is as many as there are threads for.
    public var maxConcurrentOperationCount: Int {
        get { state.withLock { $0.limit == .max ? Self.defaultMaxConcurrentOperationCount : $0.limit } }
        set {
            precondition(newValue >= Self.defaultMaxConcurrentOperationCount, "a count cannot be negative")
            state.withLock { $0.limit = newValue == Self.defaultMaxConcurrentOperationCount ? .max : newValue }
            employ()
        }
    }

    /// While true no operation starts; those that execute go on.
    public var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set {
            state.withLock { $0.isSuspended = newValue }
            if !newValue { employ() }
        }
    }

    public var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// Which of the global queues the threads come from; an ``underlyingQueue`` goes before.
    public var qualityOfService: QualityOfService {
        get { state.withLock { $0.qualityOfService } }
        set { state.withLock { $0.qualityOfService = newValue } }
    }

    /// Where the operations start, in place of a global queue.
    public var underlyingQueue: DispatchQueue? {
        get { state.withLock { $0.underlyingQueue } }
        set { state.withLock { $0.underlyingQueue = newValue } }
    }

    // MARK: Looking

    /// Those that have not finished, in the order they were added.
    public var operations: [Operation] { state.withLock { $0.unfinished } }

    public var operationCount: Int { state.withLock { $0.count } }

    /// Counts one unit for every operation that finishes from now on, towards the total that the caller sets.
    public var progress: Progress {
        state.withLock { state in
            let progress = state.progress ?? Progress(totalUnitCount: 0)
            state.progress = progress
            return progress
        }
    }

    /// The queue whose operation runs on this thread.
    public static var current: LinearOperationQueue? { Worker.current?.queue }

    // MARK: Ending

    /// Cancels every operation that has not finished.
    public func cancelAllOperations() {
        for operation in operations { operation.cancel() }
        state.withLock { $0.expediteCancelled() }
        employ()
    }

    /// Blocks this thread until the queue is empty.
    public func waitUntilAllOperationsAreFinished() {
        let empty = DispatchSemaphore(value: 0)
        let isEmpty = state.withLock { state in
            if state.count > 0 { state.waits.append(empty) }
            return state.count == 0
        }
        guard !isEmpty else { return }
        MainInbox.wait(for: empty) { state.withLock { state in state.waits.contains { $0 === empty } ? nil : () } }
    }
}

// MARK: - Moving on

extension LinearOperationQueue {
    private func add(_ operation: Operation, isBarrier: Bool) {
        precondition(
            !operation.isExecuting && !operation.isFinished, "\(operation) has started, it cannot be added to a queue")
        let dependencies = operation.dependencies.filter { !$0.isFinished }
        let (place, unknown) = state.withLock { state in
            let place = state.insert(operation, isBarrier: isBarrier)
            return (place, state.wait(place, for: dependencies))
        }
        (operation as? AsyncOperation)?.settle(in: Home(queue: self, place: place))
        for dependency in unknown { watch(dependency) }
        state.withLock { $0.release(place) }
        employ()
    }

    /// Has the queue know when an operation finishes that something here depends on.
    private func watch(_ dependency: Operation) {
        let key = ObjectIdentifier(dependency)
        if let dependency = dependency as? AsyncOperation {
            if dependency.isAtHome(in: self) { return }
            dependency.whenFinished { self.dependencyFinished(key) }
        } else {
            dependency.addCompletion { self.dependencyFinished(key) }
        }
    }

    private func dependencyFinished(_ key: ObjectIdentifier) {
        state.withLock { $0.dependencyFinished(key) }
        employ()
    }

    /// An operation that was about to start is not ready after all: it was given more dependencies, or its class says so.
    func park(_ operation: Operation, _ place: QueueState.Place) {
        let dependencies = operation.dependencies.filter { !$0.isFinished }
        for dependency in state.withLock({ $0.park(place, for: dependencies) }) { watch(dependency) }
        state.withLock { $0.satisfyOne(place) }
    }

    /// An operation of ours has finished.
    func finished(_ place: QueueState.Place) {
        // Before it leaves, so that whoever waits for the empty queue finds all counted.
        if let progress = state.withLock({ $0.progress(countedBy: place) }) {
            counting.withLock { _ in progress.completedUnitCount += 1 }
        }
        let waits = state.withLock { $0.remove(place) }
        for wait in waits { wait.signal() }
        // The worker that ran the operation looks for the next one itself.
        if let worker = Worker.current, worker.queue === self, worker.place == place { return }
        employ()
    }

    /// An operation that waits for others was cancelled: it need not wait.
    func expedite(_ place: QueueState.Place) {
        state.withLock { $0.expedite(place) }
        employ()
    }

    /// Sends for a worker when there is work that none is on its way to.
    func employ() {
        let queue = state.withLock { $0.workerNeeded() }
        queue?.async { Worker.run(for: self) }
    }
}

extension Operation {
    /// Runs `body` once, after the operation has finished, beside the completion block that is set now.
    func addCompletion(_ body: @escaping @Sendable () -> Void) {
        let once = Once(body)
        let block = completionBlock
        completionBlock = {
            block?()
            once.take()?()
        }
        if isFinished { once.take()?() }
    }
}
