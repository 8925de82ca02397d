import ControlProtocol
import Jobs

extension SocketControl {
    public func watch(
        _ scope: WatchScope
    ) async throws(ControlProblem) -> AsyncThrowingStream<WatchEvent, any Error> {
        let call =
            switch scope {
            case .job(let id): Call(.get, "jobs", "\(id)", "events")
            case .graph(let id): Call(.get, "graphs", "\(id)", "events")
            case .all: Call(.get, "events")
            }
        let (_, body) = try await streamedBody(of: call)
        let events = EventLines(lines: StreamedLines(body: body, call: call), call: call)
        return AsyncThrowingStream { try await events.next() }
    }
}

/// The events of a stream, one on each line.
private actor EventLines {
    private let lines: StreamedLines
    private let call: Call
    private var events: ArraySlice<WatchEvent> = []
    private var isAtEnd = false

    init(lines: StreamedLines, call: Call) {
        self.lines = lines
        self.call = call
    }

    func next() async throws -> WatchEvent? {
        if isAtEnd { return nil }
        if events.isEmpty {
            guard let lines = try await lines.next() else {
                throw ControlProblem(during: call, error: ConnectionError.closed)
            }
            events = try lines.map { try WatchEvent(response: $0) }[...]
        }
        let event = events.removeFirst()
        isAtEnd = event == .final
        return event
    }
}
