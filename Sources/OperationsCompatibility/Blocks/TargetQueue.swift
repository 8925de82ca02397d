import Dispatch
import Operations

/// The queue on which a block runs.
@usableFromInline
enum TargetQueue: Sendable {
    case main
    case shared(DispatchQoS.QoSClass)
    case custom(DispatchQueue)

    var queue: DispatchQueue {
        switch self {
        case .main: .main
        case .shared(let qos): WorkerPool.of(qos).queue
        case .custom(let queue): queue
        }
    }

    @usableFromInline var isShared: Bool {
        if case .shared = self { true } else { false }
    }

    /// The quality of service of the blocks on this queue. A custom queue's blocks have the quality of service of the
    /// queue; nil if it has none.
    var qos: qos_class_t? {
        switch self {
        case .main: qos_class_main()
        case .shared(let qos): qos.number
        case .custom(let queue): queue.requestedQoS
        }
    }

    /// Whether a block of this queue may run directly after a block of `target`, on the same thread and without being
    /// dispatched. That is possible only on a shared queue, where it makes no difference.
    func continues(_ target: TargetQueue) -> Bool {
        if case .shared(let mine) = self, case .shared(let other) = target { mine == other } else { false }
    }

    @usableFromInline
    func call(_ catcher: @escaping @Sendable (any Error) -> Void, _ error: any Error) {
        let qos = qos
        run(after: nil) { RequestedQoS.with(qos) { catcher(error) } }
    }

    /// Runs `work` after `delay` seconds on the monotonic clock, which stops while the machine sleeps.
    func run(after delay: Double?, _ work: @escaping @Sendable () -> Void) {
        let isMain = if case .main = self { true } else { false }
        guard let delay, delay > 0 else {
            return isMain ? MainInbox.post(work) : queue.async(execute: work)
        }
        if isMain {
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { MainInbox.post(work) }
        } else {
            queue.asyncAfter(deadline: .now() + delay, execute: work)
        }
    }
}

extension DispatchQueue {
    /// The queue's quality of service; nil if the queue was created without one.
    var requestedQoS: qos_class_t? {
        if MainThread.isServed(by: self) { return qos_class_main() }
        let qos = qos.qosClass
        return qos == .unspecified ? nil : qos.number
    }
}
