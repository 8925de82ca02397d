import Control
import Jobs
import Synchronization

/// Shows a stream of events: as lines, or on a terminal as a block that is drawn ten times a second while it changes.
struct Watching {
    var events: AsyncThrowingStream<WatchEvent, any Error>
    var surroundings: Surroundings

    static let endedEarly = CommandFailure(
        .temporary, "The daemon stopped. The jobs are kept; watch again when it runs.")

    func run() async throws -> ExitCode {
        surroundings.output.isTerminal ? try await runLive() : try await runLines()
    }

    private func runLines() async throws -> ExitCode {
        var view = WatchView(isLive: false)
        let start = ContinuousClock.now
        for try await event in events {
            let lines = view.apply(event, at: ContinuousClock.now - start, now: surroundings.now())
            for line in lines { try surroundings.output.line(line) }
            try surroundings.output.flush()
            if event == .final { return ExitCode(states: view.lastStates) }
        }
        throw Self.endedEarly
    }

    /// What the reader of the events leaves for the drawer.
    private final class Shared: Sendable {
        struct Content {
            var view = WatchView(isLive: true)
            var lines: [StyledText] = []
            var hasChanged = true
        }

        let content = Mutex(Content())

        func apply(_ event: WatchEvent, at elapsed: Duration, now: Timestamp) {
            content.withLock { content in
                content.lines += content.view.apply(event, at: elapsed, now: now)
                content.hasChanged = true
            }
        }
    }

    private func runLive() async throws -> ExitCode {
        let shared = Shared()
        let output = surroundings.output
        let now = surroundings.now

        func draw(_ block: inout LiveBlock, isLast: Bool) throws {
            let (lines, runs) = shared.content.withLock { content in
                defer {
                    content.lines = []
                    content.hasChanged = false
                }
                // Running times go on without an event.
                return (content.lines, content.view.block(height: output.height, now: now()))
            }
            try block.draw(isLast ? Array(runs.suffix(1)) : runs, below: lines)
        }

        var block = LiveBlock(output)
        let isFinal = try await withThrowingTaskGroup(of: Bool?.self) { group in
            group.addTask { [events] in
                let start = ContinuousClock.now
                for try await event in events {
                    shared.apply(event, at: ContinuousClock.now - start, now: now())
                    if event == .final { return true }
                }
                return false
            }
            func tick() {
                group.addTask {
                    try await Task.sleep(for: .milliseconds(100), clock: .continuous)
                    return nil
                }
            }
            tick()
            while let result = try await group.next() {
                if let result {
                    group.cancelAll()
                    return result
                }
                if shared.content.withLock({ $0.hasChanged || $0.view.hasRunning }) { try draw(&block, isLast: false) }
                tick()
            }
            return false
        }
        try draw(&block, isLast: true)
        guard isFinal else { throw Self.endedEarly }
        return ExitCode(states: shared.content.withLock { Array($0.view.lastStates) })
    }
}
