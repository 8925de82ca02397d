import Jobs
import SQLite

/// A caller's request to the thread that owns a `Resource`.
protocol Request<Resource>: AnyObject, Sendable {
    associatedtype Resource

    /// How much the request writes, about one for each job.
    var weight: Int { get }
    /// Does the work and keeps the result. May be called again after a failure.
    func run(with resource: Resource) throws(SQLiteError)
    /// Returns the kept result or the failure to the caller. Called once.
    func answer(_ failure: StoreError?)
}

/// A request whose caller waits for its result.
///
/// SAFETY: only the resource's thread touches `value`, and the caller receives it through the continuation.
final class PendingRequest<Resource, Value: Sendable>: Request, @unchecked Sendable {
    private let body: @Sendable (Resource) throws(SQLiteError) -> Value
    private let continuation: UnsafeContinuation<Result<Value, StoreError>, Never>
    private var value: Value?
    let weight: Int

    init(
        _ continuation: UnsafeContinuation<Result<Value, StoreError>, Never>, weight: Int,
        _ body: @escaping @Sendable (Resource) throws(SQLiteError) -> Value
    ) {
        self.weight = weight
        self.continuation = continuation
        self.body = body
    }

    func run(with resource: Resource) throws(SQLiteError) { value = try body(resource) }

    func answer(_ failure: StoreError?) {
        if let failure {
            continuation.resume(returning: .failure(failure))
        } else if let value {
            continuation.resume(returning: .success(value))
        } else {
            preconditionFailure("a request is answered only after it ran")
        }
    }
}
