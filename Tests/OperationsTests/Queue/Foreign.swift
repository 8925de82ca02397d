import Dispatch
import Foundation
import Synchronization

/// An asynchronous operation of a class that this module does not know. It reports its state only to Foundation.
final class Foreign: Operation, @unchecked Sendable {
    private let body: @Sendable () -> Void
    private let phase = Mutex((executing: false, finished: false))
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.withLock { $0.executing } }
    override var isFinished: Bool { phase.withLock { $0.finished } }

    override func start() {
        phase.withLock { $0.executing = true }
        didChangeValue(forKey: "isExecuting")
        DispatchQueue.global().async {
            self.body()
            self.phase.withLock { $0 = (false, true) }
            self.didChangeValue(forKey: "isFinished")
        }
    }
}
