import Jobs
import OperationTypes
import PostgreSQL
import StoreParts

/// A thread that carries out requests in order and owns a connection. No other thread uses the connection.
///
/// A thread and not an event source: the statements of a transaction depend on each other's answers, so an event loop
/// would switch threads for each of them and gain nothing. A store has only seven such threads.
final class RequestThread<Resource>: Sendable {
    private let mailbox = Mailbox<any Request<Resource>>()
    private let closed = Latch<Void>()

    init(named name: String, _ handler: Handover<any RequestHandler<Resource>>) throws(PostgresOpenError) {
        let (mailbox, closed) = (mailbox, closed)
        do throws(ThreadError) {
            try startThread(named: name) {
                var handler: (any RequestHandler<Resource>)? = handler.take()
                var batch: [any Request<Resource>] = []
                while mailbox.takeAll(into: &batch, waiting: handler?.moreWork ?? .none) {
                    handler?.carryOut(batch)
                    batch.removeAll(keepingCapacity: true)
                }
                handler?.finish()
                handler = nil
                closed.open()
            }
        } catch {
            throw .noThread(code: error.code)
        }
    }

    deinit { mailbox.close() }

    func perform<Value: Sendable>(
        weight: Int = 1, excludesAdding: Bool = false,
        _ body: @escaping @Sendable (Resource) throws(PostgresError) -> Value
    ) async throws(StoreError) -> Value {
        try await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Value, StoreError>, Never>) in
            put(PendingRequest(continuation, weight: weight, excludesAdding: excludesAdding, body))
        }.get()
    }

    /// Adds a request. Answers it with `closed` if the thread is closed.
    func put(_ request: any Request<Resource>) {
        if !mailbox.put(request) { request.answer(.closed) }
    }

    /// Carries out the requests made so far, and accepts no more.
    func close() async {
        mailbox.close()
        await closed.uncancellableWait()
    }
}

/// The owner of a thread's resource.
protocol RequestHandler<Resource> {
    associatedtype Resource

    /// Carries out and answers every request of the batch. The batch is empty if the call is for ``moreWork``.
    func carryOut(_ batch: [any Request<Resource>])
    /// Called last, before the handler's resources are closed.
    func finish()
    /// When to call ``carryOut(_:)`` even if no request arrives.
    var moreWork: MoreWork { get }
}
