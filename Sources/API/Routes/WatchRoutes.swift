import ControlProtocol
import HTTPTypes
import HummingbirdCore
import Jobs

/// Serves streams of events, one JSON line for each event.
struct WatchRoutes: Sendable {
    let control: any JobControl
    let memory: AnswerMemory
    let stop: StopSignal

    /// The memory reserved for events that the caller of a stream has not read yet.
    private static let streamBytes = 32 << 10

    func add(to routes: inout RouteTable) {
        routes.on(.get, "events") { request, context in try await watch(.all, request, context) }
        routes.on(.get, "jobs/{job}/events") { request, context in
            try await watch(.job(RouteRequest(request, context).job()), request, context)
        }
        routes.on(.get, "graphs/{graph}/events") { request, context in
            try await watch(.graph(RouteRequest(request, context).graph()), request, context)
        }
    }

    /// Streams events until the scope is final, the peer disconnects or the server stops. If the stream ends
    /// before the scope is final, its last line is a problem.
    private func watch(
        _ scope: WatchScope, _ request: Request, _ context: ControlContext
    ) async throws -> Response {
        guard let room = memory.take(Self.streamBytes, for: context.user) else { throw AnswerMemory.full }
        let events = try await control.watch(scope)
        return Response.lines { writer in
            defer { room.release() }
            let lines = EventWriter(writer)
            do {
                try await context.untilClosed(request, stop, orWhen: { await isFinal(scope) }) {
                    for try await event in events { try await lines.write(event) }
                }
            } catch let problem as ControlProblem {
                try await writer.write(line: problem)
            }
        }.lastOfItsConnection
    }

    /// Returns whether the scope is final. The last jobs of a drain may end before their events are sent, and
    /// then the server stops. In that case the watch still sends the remaining events, whose number is finite.
    private func isFinal(_ scope: WatchScope) async -> Bool {
        do {
            switch scope {
            case .job(let id): return try await control.result(id) != nil
            case .graph(let id):
                // Read only the graph's record: it is the first in a listing that begins at this graph.
                let graphs = try await control.graphs(limit: 1, before: GraphID(id.rawValue + 1))
                return graphs.contains { $0.id == id && $0.finishedAt != nil }
            case .all: return false
            }
        } catch {
            // Report the stop to the watcher, as if the scope were not final.
            return false
        }
    }
}

/// Lets the task that waits for events write them.
///
/// SAFETY: The parent task passes the writer to a child, waits until the child has ended, and only then writes
/// again.
private final class EventWriter: @unchecked Sendable {
    private var writer: any ResponseBodyWriter

    init(_ writer: any ResponseBodyWriter) { self.writer = writer }

    func write(_ event: WatchEvent) async throws { try await writer.write(line: event) }
}
