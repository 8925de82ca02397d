import Control
import Hummingbird
import HummingbirdCore
import Jobs

struct JobRoutes: Sendable {
    let control: any JobControl
    let stop: StopSignal

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("jobs") { request, _ in
            let items = request.uri.queryParameters.map { (name: String($0.key), value: String($0.value)) }
            return Response(try await control.jobs(filter(items)))
        }
        routes.get("jobs/{id}") { _, context in Response(try await control.job(context.job())) }
        routes.get("jobs/{id}/result") { request, context in
            let wait = try Query(request, known: "wait").duration("wait", atMost: .seconds(3600))
            return try await result(of: context.job(), waiting: wait, request)
        }
        routes.get("jobs/{id}/why") { _, context in Response(try await control.why(context.job())) }
        routes.post("jobs/{id}/cancel") { _, context in
            let id = try context.job()
            let answer = try await control.cancel(.jobs([id])).first
            guard let answer, answer.result != .unknown else {
                throw ControlProblem(.notFound, "There is no job \(id); it may have been pruned.")
            }
            return Response(answer)
        }
        routes.post("jobs/{id}/retry") { request, context in
            let dependents = try Query(request, known: "dependents").flag("dependents")
            return Response(try await control.retry(context.job(), dependents: dependents), status: .created)
        }
        routes.post("prune") { _, context in
            let request: PruneRequest = try await read(context.body.json())
            return Response(try await control.prune(request))
        }
    }

    private func filter(_ items: [(name: String, value: String)]) throws(ControlProblem) -> JobFilter {
        do {
            return try JobFilter(query: items)
        } catch {
            throw ControlProblem(error)
        }
    }

    /// 204 while the job is open.
    private func result(of id: JobID, waiting wait: Duration?, _ request: Request) async throws -> Response {
        guard let wait else { return try await control.result(id).map { Response($0) } ?? .done }
        let result = try await untilClosed(request, stop) { try await control.result(id, waiting: wait) }
        var response = result.map { Response($0) } ?? .done
        // What told us of the peer's end has taken the connection.
        response.headers[.connection] = "close"
        return response
    }
}

/// Does long work until the peer goes away or the server stops, either of which cancels it.
func untilClosed<Value: Sendable>(
    _ request: Request, _ stop: StopSignal, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let value = try await request.body.consumeWithCancellationOnInboundClose { _ in
        try await stop.whileRunning(work)
    }
    guard let value else {
        throw ControlProblem(.unavailable, "The daemon stops. Try again when it has started.")
    }
    return value
}

/// Reads a request's value; what is wrong with it is the caller's.
func read<Value: WireValue>(_ json: JSONText, as type: Value.Type = Value.self) throws(ControlProblem) -> Value {
    do {
        return try Value(json: json)
    } catch {
        throw ControlProblem(error)
    }
}
