import CPostgreSQL

/// Ends the running statement of a connection from another thread.
///
/// SAFETY: libpq allows its cancel object to be used by any thread while the connection is used by another.
public final class Canceller: @unchecked Sendable {
    private let handle: OpaquePointer?

    init(_ handle: OpaquePointer?) { self.handle = handle }

    deinit { if let handle { halyard_pq_freeCancel(handle) } }

    /// Asks the server to end the statement that is running, if any. The statement then fails with
    /// ``SQLState/cancelled``.
    public func cancel() {
        guard let handle else { return }
        var problem = [CChar](repeating: 0, count: 256)
        // Losing the request is harmless: the statement ends by itself or by its timeout.
        _ = halyard_pq_cancel(handle, &problem, Int32(problem.count))
    }
}
