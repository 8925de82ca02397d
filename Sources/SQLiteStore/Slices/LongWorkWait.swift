import Jobs
import SQLite

/// The value of a request, and what its long work reports.
///
/// The report is a failure when a slice failed for a lasting reason, and nil when there was no work, or the store ended
/// first. Work that did not end is durable, and resumed later.
typealias LongAnswer<Value> = (value: Value, report: Result<LongWorkReport, StoreError>?)

/// Begins long work in one transaction, and answers its caller when the work has ended.
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
            // The work did not begin. A registration that remains is harmless, since no such work ends.
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

/// One slice, run as a request like any other.
///
/// SAFETY: only the writer's thread touches it.
final class SliceRequest: Request, @unchecked Sendable {
    let weight = Writer.rowsPerSlice
    private(set) var failure: StoreError?

    func run(with writer: Writer) throws(SQLiteError) { try writer.carryOutSlice() }

    func answer(_ failure: StoreError?) { self.failure = failure }
}
