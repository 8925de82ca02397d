import ControlProtocol
import Jobs
import Synchronization

/// Prints a stream of events: as lines or, on a terminal, as a block that is redrawn up to ten times a second.
struct Watching {
    var session: Session
    var scope: WatchScope
    var patience: Duration

    func run() async throws -> ExitCode {
        session.output.isTerminal && !session.isJSON ? try await runLive() : try await runLines()
    }

    /// Prints lines for each event, or one JSON value.
    private func runLines() async throws -> ExitCode {
        var view = WatchView(isLive: false)
        let start = ContinuousClock.now
        // Gaps are printed on standard error, separate from the data.
        var watch = LastingWatch(session, scope, patience: patience) { notice in
            if let text = notice.text { try session.note(text) }
            guard case .event(let event) = notice else { return }
            let lines = view.apply(event, at: ContinuousClock.now - start, now: session.now)
            try session.print(event) { for line in lines { try $0.line(line) } }
            try session.output.flush()
        }
        try await watch.run()
        return try await end(view.states)
    }

    /// Prints why jobs failed on standard error, separate from the data.
    private func end(_ states: [JobID: JobState]) async throws -> ExitCode {
        try await FailureNotes(session: session, patience: patience).report(states)
        return ExitCode(states: states.values)
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
