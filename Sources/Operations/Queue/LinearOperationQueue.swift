import Dispatch
import Foundation
import OperationTypes
import Synchronization

/// A queue of Foundation operations with the interface of `OperationQueue`. Its cost per operation is constant, so
/// chains and backlogs of any length take linear time.
///
/// The queue accepts every `Operation`. Priorities order the ready operations. They are read when an operation becomes
/// ready and again when its turn comes. Operations of equal priority keep the order of addition. An operation that is
/// cancelled while it waits for its dependencies starts, and finishes, without them; an ``AsyncOperation`` does so at
/// once. Foundation on Linux does not report the cancellation of an operation of another class, so the queue checks for
/// it: after 10 ms, then at intervals of a hundredth of the time that the newest such operation has waited, at most a
/// second. The `isReady` property of a subclass that overrides it is read at the same intervals. While no such
/// operation waits, the queue does not wake up.
///
/// If the `main()` of an operation continues after the operation has finished, it still occupies the thread and delays
/// the next operation.
public final class LinearOperationQueue: Sendable {
    /// The value of ``maxConcurrentOperationCount`` that sets no limit.
    public static let defaultMaxConcurrentOperationCount = -1

    /// Runs operations one at a time on the main thread, each as a separate block of the main queue.
    public static let main = LinearOperationQueue(isMain: true)

    let state: Mutex<QueueState>
    private let isMain: Bool
    /// Held while the progress is updated. Many threads update it, and `Progress` is not thread-safe.
    private let counting = Mutex(())

    /// Creates a queue that runs as many operations at once as there are threads for.
    public convenience init() { self.init(isMain: false) }

    private init(isMain: Bool) {
        self.isMain = isMain
        var state = QueueState()
        if isMain {
            state.limit = 1
            state.name = "Main"
            state.underlyingQueue = .main
        }
        self.state = Mutex(state)
    }

    // MARK: Adding

    /// Adds an operation. The operation starts when it is ready and its turn has come.
    ///
    /// - Precondition: The operation is in no queue and has not started.
    public func addOperation(_ operation: Operation) { add([operation], isBarrier: false) }

    /// Adds an operation that runs `block`.
    public func addOperation(_ block: @escaping @Sendable () -> Void) {
        addOperation(BlockOperation(block: block))
    }

    /// Adds all operations before the first of them starts, so that priorities order the whole list.
    ///
    /// - Parameter wait: Whether to block this thread until all of them have finished.
    /// - Precondition: The operations are in no queue and have not started.
    @available(*, noasync, message: "Await addOperations(_:waitUntilFinished:) instead, which does not block a thread.")
    public func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        add(operations, isBarrier: false)
        if wait {
            for operation in operations { operation.waitUntilFinished() }
        }
    }

    /// Adds all operations before the first of them starts, so that priorities order the whole list.
    ///
    /// - Parameter wait: Whether to suspend this task until all of them have finished, or until the task is cancelled,
    ///   which does not cancel the operations.
    /// - Precondition: The operations are in no queue and have not started.
    public func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) async {
        add(operations, isBarrier: false)
        guard wait else { return }
        let waiter = Waiter<Void>()
        // The count starts one higher than the number of operations, so that it cannot reach zero before all are
        // observed.
        let remaining = Atomic(operations.count + 1)
        let end: @Sendable () -> Void = {
            if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { waiter.end(with: ()) }
        }
        for operation in operations { operation.afterFinish(end) }
        end()
        await waiter.outcome()
    }

    /// Adds a block that runs alone: after every operation that was added before it, and before every operation that is
    /// added after it.
    public func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        add([BlockOperation(block: barrier)], isBarrier: true)
    }

    // MARK: Settings

    /// The maximum number of operations that execute at the same time. Default:
    /// ``defaultMaxConcurrentOperationCount``, which allows as many as there are threads for.
    public var maxConcurrentOperationCount: Int {
        get { state.withLock { $0.limit == .max ? Self.defaultMaxConcurrentOperationCount : $0.limit } }
        set {
            precondition(newValue >= Self.defaultMaxConcurrentOperationCount, "a count cannot be negative")
            state.withLock { $0.limit = newValue == Self.defaultMaxConcurrentOperationCount ? .max : newValue }
            employ()
        }
    }

    /// Whether the queue is suspended. While it is, no operation starts, and executing operations continue. Default:
    /// false.
    public var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set {
            state.withLock { $0.isSuspended = newValue }
            if !newValue { employ() }
        }
    }

    /// A name for people; nil by default.
    public var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The quality of service of the global queue on which operations start. Ignored if ``underlyingQueue`` is set.
    public var qualityOfService: QualityOfService {
        get { state.withLock { $0.qualityOfService } }
        set { state.withLock { $0.qualityOfService = newValue } }
    }

    /// The queue on which operations start, instead of a global queue. Default: nil.
    public var underlyingQueue: DispatchQueue? {
        get { state.withLock { $0.underlyingQueue } }
        set { state.withLock { $0.underlyingQueue = newValue } }
    }

    // MARK: Inspecting

    /// The operations that have not finished, in the order in which they were added.
    public var operations: [Operation] { state.withLock { $0.unfinished } }

    /// The number of operations that have not finished.
    public var operationCount: Int { state.withLock { $0.count } }

    /// A progress that counts one completed unit for every operation that finishes from the first access on. Barrier
    /// blocks are not counted. The caller sets the total.
    public var progress: Progress {
        state.withLock { state in
            let progress = state.progress ?? Progress(totalUnitCount: 0)
            state.progress = progress
            return progress
        }
    }

    /// The queue whose operation runs on this thread; nil if there is none.
    public static var current: LinearOperationQueue? { Worker.current?.queue }

    // MARK: Cancelling and waiting

    /// Cancels every operation that has not finished.
    public func cancelAllOperations() {
        for operation in operations { operation.cancel() }
        state.withLock { $0.expediteCancelled() }
        employ()
    }

    /// Blocks this thread until the queue is empty.
    @available(*, noasync, message: "Await waitUntilAllOperationsAreFinished() instead, which does not block a thread.")
    public func waitUntilAllOperationsAreFinished() {
        let empty = DispatchSemaphore(value: 0)
        let isEmpty = Atomic(false)
        whenEmpty {
            isEmpty.store(true, ordering: .releasing)
            empty.signal()
        }
        MainInbox.wait(for: empty) { isEmpty.load(ordering: .acquiring) ? () : nil }
    }

    /// Suspends this task until the queue is empty, or until the task is cancelled, which does not cancel the
    /// operations.
    public func waitUntilAllOperationsAreFinished() async {
        let waiter = Waiter<Void>()
        whenEmpty { waiter.end(with: ()) }
        await waiter.outcome()
    }

    private func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let isEmpty = state.withLock { state in
            if state.count > 0 { state.waits.append(body) }
            return state.count == 0
        }
        if isEmpty { body() }
    }
}

extension LinearOperationQueue: Hashable {
    /// Whether both are the same queue.
    public static func == (one: LinearOperationQueue, other: LinearOperationQueue) -> Bool { one === other }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: - Scheduling operations

extension LinearOperationQueue {
    private func add(_ operations: [Operation], isBarrier: Bool) {
        var handles: [QueueState.Handle] = []
        for operation in operations {
            let hasStarted =
                (operation as? AsyncOperation)?.hasStarted ?? (operation.isExecuting || operation.isFinished)
            precondition(!hasStarted, "\(operation) has started and cannot be added to a queue")
            let dependencies = operation.dependencies.filter { !$0.isFinished }
            let (handle, unknown) = state.withLock { state in
                let handle = state.insert(operation, isBarrier: isBarrier)
                return (handle, state.wait(handle, for: dependencies))
            }
            (operation as? AsyncOperation)?.settle(in: QueueMembership(queue: self, handle: handle))
            for dependency in unknown { watch(dependency) }
            handles.append(handle)
        }
        let check = state.withLock { state in
            for handle in handles { state.release(handle) }
            return state.foreign.firstCheck(now: DispatchTime.now().uptimeNanoseconds)
        }
        if let check { schedule(check) }
        employ()
    }

    /// Observes the finish of an operation on which an operation of this queue depends.
    private func watch(_ dependency: Operation) {
        let key = ObjectIdentifier(dependency)
        if let dependency = dependency as? AsyncOperation, dependency.isMember(of: self) { return }
        dependency.afterFinish { self.dependencyFinished(key) }
    }

    /// Schedules a check of the foreign operations that wait, and after it the next check, if one is needed.
    private func schedule(_ check: ForeignOperations.Check) {
        let due = DispatchTime.now() + .nanoseconds(Int(clamping: check.delay))
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: due) { [weak self] in
            guard let self else { return }
            let start = DispatchTime.now().uptimeNanoseconds
            let next = state.withLock { state in
                state.expediteCancelledForeign()
                let now = DispatchTime.now().uptimeNanoseconds
                return state.foreign.nextCheck(after: check.number, cost: now - start, now: now)
            }
            employ()
            if let next { schedule(next) }
        }
    }

    private func dependencyFinished(_ key: ObjectIdentifier) {
        state.withLock { $0.dependencyFinished(key) }
        employ()
    }

    /// Puts back an operation that was about to start but is not ready: it was given more dependencies, or its class
    /// says that it is not ready.
    func park(_ operation: Operation, _ handle: QueueState.Handle) {
        let dependencies = operation.dependencies.filter { !$0.isFinished }
        for dependency in state.withLock({ $0.park(handle, for: dependencies) }) { watch(dependency) }
        let check = state.withLock { state in
            state.satisfyOne(handle)
            return state.foreign.firstCheck(now: DispatchTime.now().uptimeNanoseconds)
        }
        if let check { schedule(check) }
    }

    /// Called when an operation of this queue has finished.
    func finished(_ handle: QueueState.Handle) {
        // The operation is counted before it leaves the queue, so that a caller that waits for the empty queue finds
        // all operations counted.
        if let progress = state.withLock({ $0.progress(countedBy: handle) }) {
            counting.withLock { _ in progress.completedUnitCount += 1 }
        }
        let waits = state.withLock { $0.remove(handle) }
        for wait in waits { wait() }
        // The worker that ran the operation finds the next one itself.
        if let worker = Worker.current, worker.queue === self, worker.handle == handle { return }
        employ()
    }

    /// Called when a waiting operation was cancelled. Makes it ready, since it need not wait for its dependencies.
    func expedite(_ handle: QueueState.Handle) {
        state.withLock { $0.expedite(handle) }
        employ()
    }

    /// Starts a worker, if there is work and no other worker is looking for work.
    func employ() {
        guard let queue = state.withLock({ $0.workerNeeded() }) else { return }
        if isMain {
            MainInbox.post { Worker.run(for: self, isSingle: true) }
        } else {
            queue.async { Worker.run(for: self, isSingle: false) }
        }
    }
}

extension Operation {
    /// Runs `body` once after the operation has finished, or now if it already has.
    func afterFinish(_ body: @escaping @Sendable () -> Void) {
        if let operation = self as? AsyncOperation {
            operation.whenFinished(body)
        } else {
            FinishObserver.observe(self, body)
        }
    }
}
