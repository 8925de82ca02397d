import Jobs
import SQLite

/// The value of a request, and the report of its long work.
///
/// The report is a failure if a slice failed for a persistent reason. It is nil if there was no work, or if the store
/// ended first. Unfinished work is durable and is resumed later.
typealias LongAnswer<Value> = (value: Value, report: Result<LongWorkReport, StoreError>?)

/// Begins long work in one transaction, and answers its caller after the work has ended.
///
/// SAFETY: only the writer's thread touches the variables; the caller sees the answer through the continuation.
final class LongWorkRequest<Value: Sendable>: Request, LongWorkWaiter, @unchecked Sendable {
    /// The immediate result of a request: its value, and the work that must end before the caller is answered.
    typealias Begun = (value: Value, work: LongWork?)
    typealias Answer = Result<LongAnswer<Value>, StoreError>

    let weight: Int
    private let body: @Sendable (Writer) throws(SQLiteError) -> Begun
    private let continuation: UnsafeContinuation<Answer, Never>
    private var begun: Begun?

    init(
        _ continuation: UnsafeContinuation<Answer, Never>, weight: Int,
        _ body: @escaping @Sendable (Writer) throws(SQLiteError) -> Begun
    ) {
        self.continuation = continuation
        self.weight = weight
        self.body = body
    }

    func run(with writer: Writer) throws(SQLiteError) {
        begun = try body(writer)
        if let work = begun?.work { writer.wait(for: work, self) }
    }

    func answer(_ failure: StoreError?) {
        if let failure {
            // The work did not begin. The waiter may still be registered, which is harmless: without `begun`,
            // ``ended(_:)`` does nothing.
            begun = nil
            continuation.resume(returning: .failure(failure))
        } else if let begun, begun.work == nil {
            continuation.resume(returning: .success((begun.value, nil)))
        }
    }

    func ended(_ result: Result<LongWorkReport, StoreError>?) {
        guard let value = begun?.value else { return }
        begun = nil
        continuation.resume(returning: .success((value, result)))
    }
}

/// A request that carries out one slice.
///
/// SAFETY: only the writer's thread touches it.
final class SliceRequest: Request, @unchecked Sendable {
    let weight = Writer.rowsPerSlice
    private(set) var failure: StoreError?

    func run(with writer: Writer) throws(SQLiteError) { try writer.carryOutSlice() }

    func answer(_ failure: StoreError?) { self.failure = failure }
}
