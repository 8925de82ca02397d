import Jobs
import PostgreSQL

extension Request {
    var excludesAdding: Bool { false }
}

/// A caller's request to the thread that owns a `Resource`.
protocol Request<Resource>: AnyObject, Sendable {
    associatedtype Resource

    /// How much the request writes, about one for each job.
    var weight: Int { get }
    /// Whether no other transaction may add jobs meanwhile.
    var excludesAdding: Bool { get }
    /// Does the work and keeps the result. May be called again after a failure.
    func run(with resource: Resource) throws(PostgresError)
    /// Returns the kept result or the failure to the caller. Called once.
    func answer(_ failure: StoreError?)
}

/// A request whose caller waits for its result.
///
/// SAFETY: only the resource's thread touches `value`, and the caller receives it through the continuation.
final class PendingRequest<Resource, Value: Sendable>: Request, @unchecked Sendable {
    private let body: @Sendable (Resource) throws(PostgresError) -> Value
    private let continuation: UnsafeContinuation<Result<Value, StoreError>, Never>
    private var value: Value?
    let weight: Int
    let excludesAdding: Bool

    init(
        _ continuation: UnsafeContinuation<Result<Value, StoreError>, Never>, weight: Int, excludesAdding: Bool = false,
        _ body: @escaping @Sendable (Resource) throws(PostgresError) -> Value
    ) {
        self.weight = weight
        self.excludesAdding = excludesAdding
        self.continuation = continuation
        self.body = body
    }

    func run(with resource: Resource) throws(PostgresError) { value = try body(resource) }

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

/// A request to enqueue graphs. Requests that wait together are carried out as one, with the same few statements.
///
/// SAFETY: only the writer's thread touches `outcomes`, and the caller receives it through the continuation.
final class EnqueueRequest: Request, @unchecked Sendable {
    typealias Resource = Writer
    let graphs: [NewGraph]
    let now: Timestamp
    let weight: Int
    var outcomes: [EnqueueOutcome]?
    private let continuation: UnsafeContinuation<Result<[EnqueueOutcome], StoreError>, Never>

    init(
        _ graphs: [NewGraph], now: Timestamp,
        _ continuation: UnsafeContinuation<Result<[EnqueueOutcome], StoreError>, Never>
    ) {
        self.graphs = graphs
        self.now = now
        self.continuation = continuation
        weight = graphs.reduce(0) { $0 + $1.weight }
    }

    /// Whether another transaction may hold a key or a row that the request needs.
    var mayWait: Bool { graphs.contains { $0.key != nil || !$0.existingDependencies.isEmpty } }

    func run(with writer: Writer) throws(PostgresError) { outcomes = try writer.enqueue(graphs, now: now) }

    func answer(_ failure: StoreError?) {
        if let failure {
            continuation.resume(returning: .failure(failure))
        } else if let outcomes {
            continuation.resume(returning: .success(outcomes))
        } else {
            preconditionFailure("a request is answered only after it ran")
        }
    }
}

/// A request for which nobody waits. If it fails, what it notes stays as it was.
final class NoteRequest<Resource>: Request {
    private let body: @Sendable (Resource) throws(PostgresError) -> Void
    let weight = 1

    init(_ body: @escaping @Sendable (Resource) throws(PostgresError) -> Void) { self.body = body }

    func run(with resource: Resource) throws(PostgresError) { try body(resource) }
    func answer(_ failure: StoreError?) {}
}
