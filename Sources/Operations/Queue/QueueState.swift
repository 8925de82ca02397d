import Dispatch
import Foundation
import OperationTypes

/// The state of a ``LinearOperationQueue``: the operations that wait, are ready, or execute. Every step takes constant
/// time, or time in proportion to the dependencies that it settles.
///
/// 1. A slot is held, waiting, ready, executing, or free.
/// 2. No step here raises `executing` above the limit.
/// 3. A slot executes only after it was ready, and is ready at most once for each start.
struct QueueState: Sendable {
    /// A slot and the number of its use, since slots are reused.
    struct Handle: Sendable, Hashable {
        let index: Int
        /// The number of the addition: operations with lower numbers were added before.
        let number: Int
    }

    private struct Slot {
        var operation: Operation?
        var number = 0
        /// The number of unfinished dependencies, plus one while the dependencies are still being determined.
        var waiting = 0
        var stage = Stage.free
        var isBarrier = false
    }

    private enum Stage {
        case free, held, waiting, ready, executing
    }

    private struct Awaited {
        /// Retained, so that its address cannot become that of another operation.
        let dependency: Operation
        var dependents: [Handle] = []
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var added = 0
    private var awaited: [ObjectIdentifier: Awaited] = [:]
    private var ready = ReadyOperations()
    /// Operations without unfinished dependencies whose classes say that they are not ready.
    private var unready: [Handle] = []
    private var executing = 0
    /// Workers that have not found their next operation yet.
    private var searching = 0
    /// A barrier that waits, and everything that was added after it.
    private var held = Fifo<Handle>()
    private var isBarrierAdmitted = false
    /// The number of slots that are neither held nor free.
    private var admitted = 0

    private(set) var count = 0
    var limit = Int.max
    var isSuspended = false
    var name: String?
    var qualityOfService = QualityOfService.default
    var underlyingQueue: DispatchQueue?
    var progress: Progress?
    /// Closures to run when the queue is empty.
    var waits: [@Sendable () -> Void] = []
    /// Waiting operations of foreign classes.
    var foreign = ForeignOperations()

    var unfinished: [Operation] {
        slots.filter { $0.stage != .free }.sorted { $0.number < $1.number }.compactMap(\.operation)
    }

    // MARK: Adding

    mutating func insert(_ operation: Operation, isBarrier: Bool) -> Handle {
        added += 1
        count += 1
        let slot = Slot(operation: operation, number: added, waiting: 1, stage: .held, isBarrier: isBarrier)
        guard let index = free.popLast() else {
            slots.append(slot)
            return Handle(index: slots.count - 1, number: added)
        }
        slots[index] = slot
        return Handle(index: index, number: added)
    }

    /// Makes an operation wait for its dependencies.
    ///
    /// - Returns: The dependencies whose finish is not observed yet.
    mutating func wait(_ handle: Handle, for dependencies: [Operation]) -> [Operation] {
        var unknown: [Operation] = []
        if !dependencies.isEmpty, !(slots[handle.index].operation is AsyncOperation) { foreign.insert(handle) }
        for dependency in dependencies {
            slots[handle.index].waiting += 1
            let key = ObjectIdentifier(dependency)
            if awaited[key] == nil { unknown.append(dependency) }
            awaited[key, default: Awaited(dependency: dependency)].dependents.append(handle)
        }
        return unknown
    }

    /// Called once all dependencies of a new operation are known. Admits the operation, or holds it behind a barrier.
    mutating func release(_ handle: Handle) {
        askUnreadyAgain()
        if slots[handle.index].isBarrier || isBarrierAdmitted || !held.isEmpty {
            held.append(handle)
            passBarriers()
        } else {
            admit(handle)
        }
    }

    private mutating func admit(_ handle: Handle) {
        admitted += 1
        isBarrierAdmitted = slots[handle.index].isBarrier
        slots[handle.index].stage = .waiting
        satisfyOne(handle)
        // Repeated here, because a cancellation while the slot was held had no effect.
        expedite(handle)
    }

    /// Admits the held operations up to the next barrier, and the barrier itself if nothing is left before it.
    private mutating func passBarriers() {
        while !isBarrierAdmitted, let handle = held.first {
            if isCurrent(handle) {
                if slots[handle.index].isBarrier, admitted > 0 { return }
                admit(handle)
            }
            _ = held.popFirst()
        }
    }

    /// Called when one dependency of the operation has finished. After the last one, the operation is ready.
    mutating func satisfyOne(_ handle: Handle) {
        guard isCurrent(handle) else { return }
        slots[handle.index].waiting -= 1
        if slots[handle.index].waiting == 0 { makeReady(handle) }
    }

    /// Makes an operation ready if it is waiting. An operation that is ready, executing or gone does not change, so that
    /// it is not started twice (3): several causes may make it ready.
    private mutating func makeReady(_ handle: Handle) {
        guard isCurrent(handle), slots[handle.index].stage == .waiting, let operation = slots[handle.index].operation
        else { return }
        slots[handle.index].stage = .ready
        foreign.remove(handle)
        ready.append(handle, operation.queuePriority)
    }

    private func isCurrent(_ handle: Handle) -> Bool { slots[handle.index].number == handle.number }

    // MARK: Finishing

    mutating func dependencyFinished(_ key: ObjectIdentifier) {
        for handle in awaited.removeValue(forKey: key)?.dependents ?? [] { satisfyOne(handle) }
        askUnreadyAgain()
    }

    /// The progress in which to count the operation. Nil if the progress was never requested, or if the operation is a
    /// barrier.
    func progress(countedBy handle: Handle) -> Progress? {
        isCurrent(handle) && !slots[handle.index].isBarrier ? progress : nil
    }

    /// Frees the handle of an operation that has finished.
    ///
    /// - Returns: The closures that waited for the empty queue, if it is now empty.
    mutating func remove(_ handle: Handle) -> [@Sendable () -> Void] {
        guard isCurrent(handle), let operation = slots[handle.index].operation else { return [] }
        let slot = slots[handle.index]
        if slot.stage == .executing { executing -= 1 }
        if slot.stage != .held { admitted -= 1 }
        if slot.isBarrier, slot.stage != .held { isBarrierAdmitted = false }
        slots[handle.index] = Slot()
        foreign.forget(handle)
        free.append(handle.index)
        count -= 1
        if !awaited.isEmpty { dependencyFinished(ObjectIdentifier(operation)) } else { askUnreadyAgain() }
        passBarriers()
        guard count == 0 else { return [] }
        defer { waits = [] }
        return waits
    }

    private mutating func askUnreadyAgain() {
        guard !unready.isEmpty else { return }
        let handles = unready
        unready = []
        for handle in handles { makeReady(handle) }
    }

    // MARK: Cancelling

    /// Makes a waiting operation ready if it was cancelled.
    mutating func expedite(_ handle: Handle) {
        guard isCurrent(handle), slots[handle.index].operation?.isCancelled == true else { return }
        makeReady(handle)
    }

    mutating func expediteCancelledForeign() {
        for handle in foreign.handles { expedite(handle) }
        askUnreadyAgain()
    }

    mutating func expediteCancelled() {
        for index in slots.indices { expedite(Handle(index: index, number: slots[index].number)) }
        askUnreadyAgain()
    }

    // MARK: Running

    /// The dispatch queue on which to start a worker; nil if no worker is needed. The new worker counts as searching.
    mutating func workerNeeded() -> DispatchQueue? {
        guard searching == 0, !isSuspended, executing < limit, !ready.isEmpty else { return nil }
        searching += 1
        return underlyingQueue ?? .global(qos: qualityOfService.dispatchClass)
    }

    /// Notes that a worker is looking for an operation.
    mutating func search() { searching += 1 }

    /// The next operation for a worker that is looking for one; nil if the worker should end.
    mutating func next() -> (handle: Handle, operation: Operation)? {
        searching -= 1
        guard !isSuspended, executing < limit else { return nil }
        while let (handle, priority) = ready.popFirst() {
            guard isCurrent(handle), slots[handle.index].stage == .ready, let operation = slots[handle.index].operation
            else { continue }
            let now = operation.queuePriority
            if now.rawValue < priority.rawValue {
                ready.append(handle, now)
            } else {
                executing += 1
                slots[handle.index].stage = .executing
                return (handle, operation)
            }
        }
        return nil
    }

    /// Undoes a start. After the returned dependencies are observed, call ``satisfyOne(_:)``.
    ///
    /// - Returns: The dependencies whose finish is not observed yet.
    mutating func park(_ handle: Handle, for dependencies: [Operation]) -> [Operation] {
        executing -= 1
        searching += 1
        guard !dependencies.isEmpty else {
            slots[handle.index].stage = .waiting
            slots[handle.index].waiting = 2
            unready.append(handle)
            // Perhaps no operation's finish makes it ready, so it is checked repeatedly.
            foreign.insert(handle)
            return []
        }
        slots[handle.index].stage = .waiting
        slots[handle.index].waiting = 1
        return wait(handle, for: dependencies)
    }
}

/// The ready operations, by priority; within a priority in the order in which they became ready.
private struct ReadyOperations {
    private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]
    private var rows = Array(repeating: Fifo<QueueState.Handle>(), count: 5)
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ handle: QueueState.Handle, _ priority: Operation.QueuePriority) {
        count += 1
        rows[Self.priorities.firstIndex(of: priority) ?? 2].append(handle)
    }

    mutating func popFirst() -> (QueueState.Handle, Operation.QueuePriority)? {
        guard count > 0 else { return nil }
        for row in rows.indices {
            guard let handle = rows[row].popFirst() else { continue }
            count -= 1
            return (handle, Self.priorities[row])
        }
        return nil
    }
}

extension QualityOfService {
    var dispatchClass: DispatchQoS.QoSClass {
        switch self {
        case .userInteractive: .userInteractive
        case .userInitiated: .userInitiated
        case .utility: .utility
        case .background: .background
        default: .default
        }
    }
}
