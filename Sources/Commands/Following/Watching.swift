import ControlProtocol
import Jobs
import Synchronization

/// Prints a stream of events: as lines or, on a terminal, as a block that is redrawn up to ten times a second.
struct Watching {
    var session: Session
    var scope: WatchScope
    var patience: Duration

    func run() async throws -> ExitCode {
        if session.isJSON { return try await runJSON() }
        return session.output.isTerminal ? try await runLive() : try await runLines()
    }

    private func runLines() async throws -> ExitCode {
        var view = WatchView(isLive: false)
        let start = ContinuousClock.now
        try await follow { event in
            let lines = view.apply(event, at: ContinuousClock.now - start, now: session.now)
            for line in lines { try session.output.line(line) }
            try session.output.flush()
        }
        return try await end(view.states)
    }

    /// Prints why jobs failed on standard error, separate from the data.
    private func end(_ states: [JobID: JobState]) async throws -> ExitCode {
        try await FailureNotes(session: session, patience: patience).report(states)
        return ExitCode(states: states.values)
    }

    /// Prints one JSON value per line for each event.
    private func runJSON() async throws -> ExitCode {
        var states: [JobID: JobState] = [:]
        try await follow { event in
            if case .job(let job) = event { states[job.id] = job.state }
            try session.output.json(event.json)
            try session.output.flush()
        }
        return try await end(states)
    }

    /// Follows the events, and prints gaps on standard error, separate from the data.
    private func follow(_ onEvent: @escaping (WatchEvent) throws -> Void) async throws {
        var watch = LastingWatch(session, scope, patience: patience) { notice in
            if let text = notice.text { try session.note(text) }
            if case .event(let event) = notice { try onEvent(event) }
        }
        try await watch.run()
    }

    /// The state that the task that reads events shares with the task that draws.
    private final class Shared: Sendable {
        struct Content {
            var view = WatchView(isLive: true)
            var lines: [StyledText] = []
            var hasChanged = true
        }

        let content = Mutex(Content())

        func apply(_ notice: LastingWatch.Notice, at elapsed: Duration, now: Timestamp) {
            content.withLock { content in
                if let text = notice.text { content.lines.append(text) }
                if case .event(let event) = notice {
                    content.lines += content.view.apply(event, at: elapsed, now: now)
                }
                content.hasChanged = true
            }
        }
    }

    private func runLive() async throws -> ExitCode {
        let shared = Shared()
        let output = session.output
        let now = session.surroundings.now

        func draw(_ block: inout LiveBlock, isLast: Bool) throws {
            let (lines, runs) = shared.content.withLock { content in
                defer {
                    content.lines = []
                    content.hasChanged = false
                }
                // Running times increase without an event.
                return (content.lines, content.view.block(height: output.height, now: now()))
            }
            try block.draw(isLast ? Array(runs.suffix(1)) : runs, below: lines)
        }

        var block = LiveBlock(output)
        do {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { [session, scope, patience] in
                    let start = ContinuousClock.now
                    var watch = LastingWatch(session, scope, patience: patience) {
                        shared.apply($0, at: ContinuousClock.now - start, now: now())
                    }
                    try await watch.run()
                    return true
                }
                func tick() {
                    group.addTask {
                        try await Task.sleep(for: .milliseconds(100), clock: .continuous)
                        return false
                    }
                }
                tick()
                while let isFinal = try await group.next(), !isFinal {
                    if shared.content.withLock({ $0.hasChanged || $0.view.hasRunning }) {
                        try draw(&block, isLast: false)
                    }
                    tick()
                }
                group.cancelAll()
            }
        } catch {
            // Keep the last state visible.
            try draw(&block, isLast: true)
            throw error
        }
        try draw(&block, isLast: true)
        return try await end(shared.content.withLock { $0.view.states })
    }
}
