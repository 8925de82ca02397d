import Control
import Hummingbird
import HummingbirdCore
import Jobs

/// Streams of events, one JSON line each.
struct WatchRoutes: Sendable {
    let control: any JobControl
    let memory: AnswerMemory
    let stop: StopSignal

    /// The memory reserved for events that the caller of a stream has not read yet.
    private static let streamBytes = 32 << 10

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
        guard let room = memory.take(Self.streamBytes, for: context.user) else { throw AnswerMemory.full }
        let events = try await control.watch(scope)
        return Response.lines { writer in
            defer { room.release() }
            let lines = EventWriter(writer)
            do {
                try await untilClosed(request, context, stop, orWhen: { await isFinal(scope) }) {
                    for try await event in events { try await lines.write(event) }
                }
            } catch let problem as ControlProblem {
                try await writer.write(line: problem)
            }
        }.lastOfItsConnection
    }

    /// Whether the scope is final. The last jobs of a drain may end without having been reported when the server stops.
    /// Then the watch sends the remaining events, which are finite.
    private func isFinal(_ scope: WatchScope) async -> Bool {
        do {
            switch scope {
            case .job(let id): return try await control.result(id) != nil
            case .graph(let id):
                // The record alone, which a listing from it on begins with.
                let graphs = try await control.graphs(limit: 1, before: GraphID(id.rawValue + 1))
                return graphs.contains { $0.id == id && $0.finishedAt != nil }
            case .all: return false
            }
        } catch {
            // Then the watcher is told of the stop, as when something is open.
            return false
        }
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
