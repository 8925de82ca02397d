import Control
import Hummingbird
import HummingbirdCore
import Jobs

/// Streams of events, one JSON line each.
struct WatchRoutes: Sendable {
    let control: any JobControl
    let stop: StopSignal

    func add(to routes: RouterGroup<ControlContext>) {
        routes.get("events") { request, context in try await watch(.all, request, context) }
        routes.get("jobs/{id}/events") { request, context in try await watch(.job(context.job()), request, context) }
        routes.get("graphs/{id}/events") { request, context in
            try await watch(.graph(context.graph()), request, context)
        }
    }

    /// Ends with the scope, with the peer, or with the server; then the last line is a problem, unless all is final.
    private func watch(
        _ scope: WatchScope, _ request: Request, _ context: ControlContext
    ) async throws -> Response {
        let events = try await control.watch(scope)
        return Response.lines { writer in
            let lines = EventWriter(writer)
            do {
                try await untilClosed(request, context, stop) {
                    for try await event in events { try await lines.write(event) }
                }
            } catch let problem as ControlProblem {
                guard stop.isFired, let jobs = try await finalJobs(of: scope) else {
                    return try await writer.write(line: problem)
                }
                for job in jobs { try await writer.write(line: WatchEvent.job(job)) }
                try await writer.write(line: WatchEvent.final)
            }
        }.lastOfItsConnection
    }
}

extension WatchRoutes {
    /// What ends last in a drain may not have been told when the server stops. Nil while something is open.
    private func finalJobs(of scope: WatchScope) async throws -> [JobRecord]? {
        let jobs: [JobRecord]
        switch scope {
        case .job(let id): jobs = [try await control.job(id).job]
        case .graph(let id): jobs = try await control.graph(id).jobs
        case .all: return nil
        }
        return jobs.allSatisfy(\.state.isFinal) ? jobs : nil
    }
}

/// Lets the task that waits for events write them.
///
/// SAFETY: The parent task hands the writer over, waits for the child to end, and only then writes again.
private final class EventWriter: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ event: WatchEvent) async throws { try await writer.write(line: event) }
}
