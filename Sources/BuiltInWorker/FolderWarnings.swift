import Dispatch
import Synchronization

/// Warnings that another thread may find in time.
final class FolderWarnings: Sendable {
    private let warnings = Mutex<[String]?>(nil)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ found: [String]) {
        warnings.withLock { $0 = found }
        isSet.signal()
    }

    /// Blocks the thread; nil if the time does not suffice.
    func wait(for limit: DispatchTimeInterval) -> [String]? {
        _ = isSet.wait(timeout: .now() + limit)
        return warnings.withLock(\.self)
    }
}
