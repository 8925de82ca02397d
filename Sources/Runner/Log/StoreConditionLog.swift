import Jobs
import Logging
import Synchronization

/// Logs when writes to the store begin to fail or a request gets stuck, and when that is over.
final class StoreConditionLog: Sendable {
    private let logger: Logger
    private let logged = Mutex(StoreCondition())

    init(logger: Logger) { self.logger = logger }

    /// Logs how the condition differs from the one that was last logged.
    ///
    /// - Parameter read: Called under the lock, so that an older condition never follows a newer one.
    func note(_ read: () -> StoreCondition) {
        let (before, now) = logged.withLock { logged in
            let change = (logged, read())
            logged = change.1
            return change
        }
        if before.problem == nil, let error = now.problem {
            logger.error(
                "the database cannot be written now; trying again: \(error)",
                metadata: ["HALYARD_EVENT": "writes-failed", "HALYARD_ERROR": "\(error)"])
        } else if before.problem != nil, now.problem == nil {
            logger.notice("the database can be written again", metadata: ["HALYARD_EVENT": "writes-resumed"])
        }
        for request in now.stuck where !before.stuck.contains(request) {
            logger.error(
                "\(request.subject); trying again at growing intervals: \(request.reason)",
                metadata: ["HALYARD_EVENT": "request-stuck", "HALYARD_ERROR": "\(request.reason)"])
        }
        for request in before.stuck where !now.stuck.contains(where: { $0.subject == request.subject }) {
            logger.notice("\(request.subject): resolved", metadata: ["HALYARD_EVENT": "request-resumed"])
        }
    }
}
