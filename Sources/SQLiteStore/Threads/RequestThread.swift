import Jobs
import OperationTypes
import SQLite
import StoreParts

/// A thread that carries out requests in order and owns a resource. No other thread uses the resource.
final class RequestThread<Resource>: Sendable {
    private let mailbox = Mailbox<any Request<Resource>>()
    private let closed = Latch<Void>()

    /// - Parameter atEnd: Runs on the thread after the resource is gone and before ``close()`` returns.
    init(
        named name: String, _ handler: Handover<any RequestHandler<Resource>>,
        atEnd: @escaping @Sendable () -> Void = {}
    ) throws(StoreOpenError) {
        let (mailbox, closed) = (mailbox, closed)
        try startThread(named: name) {
            var handler: (any RequestHandler<Resource>)? = handler.take()
            var batch: [any Request<Resource>] = []
            while mailbox.takeAll(into: &batch, waiting: handler?.moreWork ?? .none) {
                handler?.carryOut(batch)
                batch.removeAll(keepingCapacity: true)
            }
            handler?.finish()
            handler = nil
            atEnd()
            closed.open()
        }
    }

    deinit { mailbox.close() }

    func perform<Value: Sendable>(
        weight: Int = 1, _ body: @escaping @Sendable (Resource) throws(SQLiteError) -> Value
    ) async throws(StoreError) -> Value {
        try await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Value, StoreError>, Never>) in
            let request = PendingRequest(continuation, weight: weight, body)
            if !mailbox.put(request) { request.answer(.closed) }
        }.get()
    }

    /// Adds a request without waiting for its answer.
    ///
    /// - Returns: False if the thread is closed. The request is dropped then.
    @discardableResult
    func put(_ request: any Request<Resource>) -> Bool { mailbox.put(request) }

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

extension RequestHandler {
    var moreWork: MoreWork { .none }
}

/// Carries out read requests, each one separately.
struct ReadLoop: RequestHandler {
    let reader: Reader
    let path: String
    let onDamage: @Sendable () -> Void

    func carryOut(_ batch: [any Request<Reader>]) {
        for request in batch {
            do throws(SQLiteError) {
                try request.run(with: reader)
                request.answer(nil)
            } catch {
                let failure = StoreError(error, path: path, phase: .running)
                if case .damaged = failure { onDamage() }
                request.answer(failure)
            }
        }
    }

    func finish() {}
}
