import Dispatch
import Foundation

/// The state of a ``LinearOperationQueue``: who waits, who is ready, who executes. Every step takes constant time, or time in
/// proportion to the dependencies it settles.
///
/// 1. A slot is held, waiting, ready, executing, or free.
/// 2. `executing` never passes the limit by a step taken here.
/// 3. A slot is ready at most once, and executing after that.
struct QueueState: Sendable {
    /// A slot and which of its uses, since slots are used again.
    struct Place: Sendable, Hashable {
        let index: Int
        /// Counts additions: those with lower numbers were added before.
        let number: Int
    }

    private struct Slot {
        var operation: Operation?
        var number = 0
        /// How much it waits for: unfinished dependencies, and one while these are being found out.
        var waiting = 0
        var stage = Stage.free
        var isBarrier = false
    }

    private enum Stage {
        case free, held, waiting, ready, executing
    }

    private struct Awaited {
        /// Held, so that its address names no other operation meanwhile.
        let dependency: Operation
        var dependents: [Place] = []
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var added = 0
    private var awaited: [ObjectIdentifier: Awaited] = [:]
    private var ready = ReadyOperations()
    /// Nothing is left to wait for, but their classes say that they are not ready.
    private var unready: [Place] = []
    private var executing = 0
    /// Workers that have not found their next operation yet.
    private var searching = 0
    /// A barrier that waits, and everything that was added after it.
    private var held = PlaceQueue()
    private var isBarrierAdmitted = false
    /// How many are neither held nor free.
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

    mutating func insert(_ operation: Operation, isBarrier: Bool) -> Place {
        added += 1
        count += 1
        let slot = Slot(operation: operation, number: added, waiting: 1, stage: .held, isBarrier: isBarrier)
        guard let index = free.popLast() else {
            slots.append(slot)
            return Place(index: slots.count - 1, number: added)
        }
        slots[index] = slot
        return Place(index: index, number: added)
    }

    /// Returns the dependencies that nobody watches yet.
    mutating func wait(_ place: Place, for dependencies: [Operation]) -> [Operation] {
        var unknown: [Operation] = []
        if !dependencies.isEmpty, !(slots[place.index].operation is AsyncOperation) { foreign.insert(place) }
        for dependency in dependencies {
            slots[place.index].waiting += 1
            let key = ObjectIdentifier(dependency)
            if awaited[key] == nil { unknown.append(dependency) }
            awaited[key, default: Awaited(dependency: dependency)].dependents.append(place)
        }
        return unknown
    }

    /// Everything that the operation waits for is known: it may move on.
    mutating func release(_ place: Place) {
        askUnreadyAgain()
        if slots[place.index].isBarrier || isBarrierAdmitted || !held.isEmpty {
            held.append(place)
            passBarriers()
        } else {
            admit(place)
        }
    }

    private mutating func admit(_ place: Place) {
        admitted += 1
        isBarrierAdmitted = slots[place.index].isBarrier
        slots[place.index].stage = .waiting
        satisfyOne(place)
        // Here, and not before: a cancellation that came while the slot was held moved nothing.
        expedite(place)
    }

    /// Admits what is held, as far as the next barrier, and that barrier when nothing is left before it.
    private mutating func passBarriers() {
        while !isBarrierAdmitted, let place = held.first {
            if isCurrent(place) {
                if slots[place.index].isBarrier, admitted > 0 { return }
                admit(place)
            }
            held.removeFirst()
        }
    }

    /// One of the things that the operation waits for has come.
    mutating func satisfyOne(_ place: Place) {
        guard isCurrent(place) else { return }
        slots[place.index].waiting -= 1
        if slots[place.index].waiting == 0, slots[place.index].stage == .waiting { makeReady(place) }
    }

    private mutating func makeReady(_ place: Place) {
        guard let operation = slots[place.index].operation else { return }
        slots[place.index].stage = .ready
        foreign.remove(place)
        ready.append(place, operation.queuePriority)
    }

    private func isCurrent(_ place: Place) -> Bool { slots[place.index].number == place.number }

    // MARK: Finishing

    mutating func dependencyFinished(_ key: ObjectIdentifier) {
        for place in awaited.removeValue(forKey: key)?.dependents ?? [] { satisfyOne(place) }
        askUnreadyAgain()
    }

    /// The progress, if somebody looks at it and the operation counts.
    func progress(countedBy place: Place) -> Progress? {
        isCurrent(place) && !slots[place.index].isBarrier ? progress : nil
    }

    /// Frees the place, and returns the waits that have ended.
    mutating func remove(_ place: Place) -> [@Sendable () -> Void] {
        guard isCurrent(place), let operation = slots[place.index].operation else { return [] }
        let slot = slots[place.index]
        if slot.stage == .executing { executing -= 1 }
        if slot.stage != .held { admitted -= 1 }
        if slot.isBarrier, slot.stage != .held { isBarrierAdmitted = false }
        slots[place.index] = Slot()
        foreign.forget(place)
        free.append(place.index)
        count -= 1
        if !awaited.isEmpty { dependencyFinished(ObjectIdentifier(operation)) } else { askUnreadyAgain() }
        passBarriers()
        guard count == 0 else { return [] }
        defer { waits = [] }
        return waits
    }

    private mutating func askUnreadyAgain() {
        guard !unready.isEmpty else { return }
        let places = unready
        unready = []
        for place in places where isCurrent(place) { makeReady(place) }
    }

    // MARK: Cancelling

    /// A waiting operation that was cancelled is ready.
    mutating func expedite(_ place: Place) {
        guard isCurrent(place), slots[place.index].stage == .waiting,
            slots[place.index].operation?.isCancelled == true
        else { return }
        makeReady(place)
    }

    mutating func expediteCancelledForeign() {
        for place in foreign.places { expedite(place) }
        askUnreadyAgain()
    }

    mutating func expediteCancelled() {
        for index in slots.indices { expedite(Place(index: index, number: slots[index].number)) }
        askUnreadyAgain()
    }

    // MARK: Running

    /// The queue to send a worker to, if one is needed; it counts as on its way.
    mutating func workerNeeded() -> DispatchQueue? {
        guard searching == 0, !isSuspended, executing < limit, !ready.isEmpty else { return nil }
        searching += 1
        return underlyingQueue ?? .global(qos: qualityOfService.dispatchClass)
    }

    /// A worker begins to look for an operation.
    mutating func search() { searching += 1 }

    /// The next operation for a worker that looks for one; nil sends it away.
    mutating func next() -> (place: Place, operation: Operation)? {
        searching -= 1
        guard !isSuspended, executing < limit else { return nil }
        while let (place, priority) = ready.popFirst() {
            guard isCurrent(place), slots[place.index].stage == .ready, let operation = slots[place.index].operation
            else { continue }
            let now = operation.queuePriority
            if now.rawValue < priority.rawValue {
                ready.append(place, now)
            } else {
                executing += 1
                slots[place.index].stage = .executing
                return (place, operation)
            }
        }
        return nil
    }

    /// Takes back a start. Returns the dependencies that nobody watches yet; when they are watched, ``satisfyOne(_:)`` is due.
    mutating func park(_ place: Place, for dependencies: [Operation]) -> [Operation] {
        executing -= 1
        searching += 1
        guard !dependencies.isEmpty else {
            slots[place.index].stage = .waiting
            slots[place.index].waiting = 2
            unready.append(place)
            // No finished operation may make it ready, so it is checked repeatedly.
            foreign.insert(place)
            return []
        }
        slots[place.index].stage = .waiting
        slots[place.index].waiting = 1
        return wait(place, for: dependencies)
    }
}

/// Places in the order they came.
private struct PlaceQueue: Sendable {
    private var places: [QueueState.Place] = []
    private var taken = 0

    var isEmpty: Bool { taken == places.count }
    var first: QueueState.Place? { isEmpty ? nil : places[taken] }

    mutating func append(_ place: QueueState.Place) { places.append(place) }

    mutating func removeFirst() {
        taken += 1
        // Moving what is left only when that is the smaller half costs each place a constant share.
        if taken * 2 >= places.count {
            places.removeFirst(taken)
            taken = 0
        }
    }
}

/// Places that are ready, by priority, each priority in the order they came.
private struct ReadyOperations {

    private static let priorities: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]
    private var rows = Array(repeating: PlaceQueue(), count: 5)
    private var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ place: QueueState.Place, _ priority: Operation.QueuePriority) {
        count += 1
        rows[Self.row(priority)].append(place)
    }

    mutating func popFirst() -> (QueueState.Place, Operation.QueuePriority)? {
        guard count > 0 else { return nil }
        for row in rows.indices {
            guard let place = rows[row].first else { continue }
            rows[row].removeFirst()
            count -= 1
            return (place, Self.priorities[row])
        }
        return nil
    }

    private static func row(_ priority: Operation.QueuePriority) -> Int {
        switch priority {
        case .veryHigh: 0
        case .high: 1
        case .normal: 2
        case .low: 3
        case .veryLow: 4
        @unknown default: 2
        }
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
