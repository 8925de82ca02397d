import Jobs
import SQLite

/// Carries out requests in order on a thread of its own, each by itself: for reading.
final class Lane<Resource>: Sendable {
    private let mailbox = Mailbox<any Request<Resource>>()
    private let closed = Gate()

    init(named name: String, path: String, _ resource: Handover<Resource>) throws(StoreOpenError) {
        let (mailbox, closed) = (mailbox, closed)
        try startThread(named: name) {
            var resource: Resource? = resource.take()
            var batch: [any Request<Resource>] = []
            while mailbox.takeAll(into: &batch), let resource {
                for request in batch {
                    do throws(SQLiteError) {
                        try request.run(with: resource)
                        request.answer(nil)
                    } catch {
                        request.answer(StoreError(error, path: path, phase: .running))
                    }
                }
                batch.removeAll(keepingCapacity: true)
            }
            // Closes the connection before anybody is told so.
            resource = nil
            closed.open()
        }
    }

    deinit { mailbox.close() }

    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Resource) throws(SQLiteError) -> Value
    ) async throws(StoreError) -> Value {
        try await withUnsafeContinuation { (continuation: UnsafeContinuation<Result<Value, StoreError>, Never>) in
            let request = PendingRequest(continuation, body)
            if !mailbox.put(request) { request.answer(.closed) }
        }.get()
    }

    func close() async {
        mailbox.close()
        await closed.pass()
    }
}
