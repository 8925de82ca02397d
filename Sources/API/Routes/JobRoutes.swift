import ControlProtocol
import Hummingbird
import HummingbirdCore
import Jobs

struct JobRoutes: Sendable {
    let control: any JobControl
    let stop: StopSignal
    let answers: Answers

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("jobs") { request, context in
            let items = request.uri.queryParameters.map { (name: String($0.key), value: String($0.value)) }
            let filter = try filter(items)
            return try await answers.answer(context, .array(of: control.pages(filter)))
        }
        routes.get("jobs/{id}") { _, context in
            let id = try context.job()
            return try await answers.answer(context) { try await control.job(id).json }
        }
        routes.get("jobs/{id}/result") { request, context in
            let wait = try Query(request, known: "wait").duration("wait", atMost: .seconds(3600))
            return try await result(of: context.job(), waiting: wait, request, context)
        }
        routes.get("jobs/{id}/why") { _, context in Response(try await control.why(context.job())) }
        routes.post("jobs/cancel") { _, context in
            let wanted: CancelRequest = try await read(context.body.json())
            return Response(try await control.cancel(.jobs(wanted.jobs)))
        }
        routes.post("jobs/{id}/cancel") { _, context in
            let id = try context.job()
            let answer = try await control.cancel(.jobs([id])).first
            guard let answer, answer.result != .unknown else {
                throw ControlProblem(.notFound, "There is no job \(id); it may have been pruned.")
            }
            return Response(answer)
        }
        routes.post("jobs/{id}/retry") { request, context in
            let query = try Query(request, known: "dependents", "key")
            let (inQuery, inHeader) = (query["key"], request.headers[.idempotencyKey])
            if let inQuery, let inHeader, inQuery != inHeader {
                throw ControlProblem(.invalidRequest, "\"key\" and Idempotency-Key differ. Send only one of them.")
            }
            let receipt = try await control.retry(
                context.job(), dependents: query.flag("dependents"), key: inQuery ?? inHeader)
            return Response(receipt, status: .created)
        }
        routes.post("prune") { request, context in
            let wanted: PruneRequest = try await read(context.body.json())
            let answer = try await untilClosed(request, context, stop) { try await control.prune(wanted) }
            return Response(answer).lastOfItsConnection
        }
    }

    private func filter(_ items: [(name: String, value: String)]) throws(ControlProblem) -> JobFilter {
        do {
            return try JobFilter(query: items)
        } catch {
            throw ControlProblem(error)
        }
    }

    /// Returns the result, or status 204 if the job is not final.
    private func result(
        of id: JobID, waiting wait: Duration?, _ request: Request, _ context: ControlContext
    ) async throws -> Response {
        guard let wait else { return try await control.result(id).map { Response($0) } ?? .done }
        let result = try await untilClosed(request, context, stop) { try await control.result(id, waiting: wait) }
        return (result.map { Response($0) } ?? .done).lastOfItsConnection
    }
}

/// Runs long work, and cancels it when the peer disconnects or the server stops.
func untilClosed<Value: Sendable>(
    _ request: Request, _ context: ControlContext, _ stop: StopSignal,
    orWhen endsItself: @escaping @Sendable () async -> Bool = { false },
    _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let value = try await request.body.consumeWithCancellationOnInboundClose { _ in
        // The inbound stream reports no close once another request has arrived, so also watch the connection
        // itself.
        try await context.closed.whileRunning { try await stop.whileRunning(orWhen: endsItself, work) }
    }
    guard let value = value ?? nil else { throw ControlProblem.stopping }
    return value
}

extension Response {
    /// The response with `Connection: close`. Watching for the peer's close consumed the connection's input, so
    /// the connection cannot be reused.
    var lastOfItsConnection: Response {
        var response = self
        response.headers[.connection] = "close"
        return response
    }
}

/// Decodes the value of a request. An invalid value is the caller's error.
func read<Value: WireValue>(_ json: JSONText, as type: Value.Type = Value.self) throws(ControlProblem) -> Value {
    do {
        return try Value(json: json)
    } catch {
        throw ControlProblem(error)
    }
}
