import Dispatch
import Foundation
import OperationTypes
import Synchronization

/// A queue of Foundation operations with the interface of `OperationQueue`, whose cost per operation stays the same however
/// many wait: chains and backlogs of any length take linear time.
///
/// It accepts every `Operation`. Priorities order the ready operations, and are read when an operation becomes ready
/// and when its turn comes; operations of equal priority keep the order of addition. An operation that is cancelled
/// while it waits for others starts, and finishes, without them: an ``AsyncOperation`` at once. Foundation on Linux does
/// not report the cancellation of an operation of another class, so the queue looks for it: after 10 ms, then at
/// intervals of a hundredth of the time that the newest such operation has waited, at most a second. A subclass that
/// overrides `isReady` is asked at the same intervals. While no such operation waits, the queue does not wake up.
///
/// If the `main()` of an operation continues after its finish, it still occupies the thread and delays the next
/// operation.
public final class LinearOperationQueue: Sendable {
    public static let defaultMaxConcurrentOperationCount = -1

    /// Runs operations one at a time on the main thread, each as a separate block of the main queue.
    public static let main = LinearOperationQueue(isMain: true)

    let state: Mutex<QueueState>
    private let isMain: Bool
    /// Held to count in the progress, which many threads do and which has no lock of its own.
    private let counting = Mutex(())

    /// A queue that runs as many operations at once as there are threads for.
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

    /// Adds an operation. It starts when it is ready and its turn has come.
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
    @available(*, noasync, message: "Await addOperations(_:waitUntilFinished:) instead, which blocks no thread.")
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
        // One more than the operations, so that the count cannot reach zero before all are observed.
        let remaining = Atomic(operations.count + 1)
        let end: @Sendable () -> Void = {
            if remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { waiter.end(with: ()) }
        }
        for operation in operations { operation.afterFinish(end) }
        end()
        await waiter.outcome()
    }

    /// Runs `barrier` alone: after everything that was added before, and before everything that is added after.
    public func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        add([BlockOperation(block: barrier)], isBarrier: true)
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
    @available(*, noasync, message: "Await waitUntilAllOperationsAreFinished() instead, which blocks no thread.")
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
    public static func == (one: LinearOperationQueue, other: LinearOperationQueue) -> Bool { one === other }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

// MARK: - Moving on

extension LinearOperationQueue {
    private func add(_ operations: [Operation], isBarrier: Bool) {
        var places: [QueueState.Place] = []
        for operation in operations {
            let hasStarted =
                (operation as? AsyncOperation)?.hasStarted ?? (operation.isExecuting || operation.isFinished)
            precondition(!hasStarted, "\(operation) has started, it cannot be added to a queue")
            let dependencies = operation.dependencies.filter { !$0.isFinished }
            let (place, unknown) = state.withLock { state in
                let place = state.insert(operation, isBarrier: isBarrier)
                return (place, state.wait(place, for: dependencies))
            }
            (operation as? AsyncOperation)?.settle(in: Home(queue: self, place: place))
            for dependency in unknown { watch(dependency) }
            places.append(place)
        }
        let check = state.withLock { state in
            for place in places { state.release(place) }
            return state.foreign.firstCheck(now: DispatchTime.now().uptimeNanoseconds)
        }
        if let check { schedule(check) }
        employ()
    }

    /// Has the queue know when an operation finishes that something here depends on.
    private func watch(_ dependency: Operation) {
        let key = ObjectIdentifier(dependency)
        if let dependency = dependency as? AsyncOperation, dependency.isAtHome(in: self) { return }
        dependency.afterFinish { self.dependencyFinished(key) }
    }

    /// Checks the foreign operations that wait, when the check is due, and schedules the next check if there is one.
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

    /// An operation that was about to start is not ready after all: it was given more dependencies, or its class says so.
    func park(_ operation: Operation, _ place: QueueState.Place) {
        let dependencies = operation.dependencies.filter { !$0.isFinished }
        for dependency in state.withLock({ $0.park(place, for: dependencies) }) { watch(dependency) }
        let check = state.withLock { state in
            state.satisfyOne(place)
            return state.foreign.firstCheck(now: DispatchTime.now().uptimeNanoseconds)
        }
        if let check { schedule(check) }
    }

    /// An operation of ours has finished.
    func finished(_ place: QueueState.Place) {
        // Before it leaves, so that whoever waits for the empty queue finds all counted.
        if let progress = state.withLock({ $0.progress(countedBy: place) }) {
            counting.withLock { _ in progress.completedUnitCount += 1 }
        }
        let waits = state.withLock { $0.remove(place) }
        for wait in waits { wait() }
        // The worker that ran the operation finds the next one itself.
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
