import Jobs
import Logging
import Runner
import ServiceLifecycle
import Synchronization
import Systemd

/// Keeps the status line true: says a new one after something changed, at most one in each interval, and counts down
/// while the runner drains. An idle daemon sleeps here (P10).
struct StatusService: Service {
    let store: any JobStore
    let runner: JobRunner
    let notifier: Notifier
    let interval: Duration
    let problems: @Sendable () -> [String]
    let changes: Wakeups
    let logger: Logger

    func run() async throws {
        // The runner may hear of a problem later than this service, which would then not hear of it again.
        let writing = Writing()
        let observation = store.observe { [changes] change in
            if case .writing(let problem) = change { writing.problem.withLock { $0 = problem } }
            changes.wake()
        }
        defer { observation.cancel() }
        // A long recovery changes nothing until its end.
        changes.wake()
        await cancelWhenGracefulShutdown {
            for await _ in changes.stream {
                guard await tell(writing.problem.withLock(\.self)) else { continue }
                try? await Task.sleep(for: interval)  // Only cancellation ends it early, and the loop with it.
            }
        }
    }

    /// - Parameter problem: The reason why writes fail.
    /// - Returns: Whether there was something to tell.
    private func tell(_ problem: StoreError?) async -> Bool {
        var snapshot = runner.snapshot
        snapshot.problem = problem
        // The store may be closed by now; the daemon says how it ended.
        if snapshot.phase == .ended { return false }
        do throws(StoreError) {
            let counts = try await store.counts()
            // Ready in a moment, and what is true then must not wait for an interval.
            if snapshot.phase == .starting, counts[.running] == 0 { return false }
            let refused = try await store.refusedScheduleCount()
            var problems = problems()
            if refused > 0 {
                problems.append(
                    "\(refused == 1 ? "1 schedule" : "\(refused) schedules") refused, see halyard schedules")
            }
            let next = [try await store.nextDueAt(), try await store.nextScheduleAt()].compactMap(\.self).min()
            let line = StatusLine(runner: snapshot, counts: counts, nextDueAt: next, problems: problems)
            let now = wallClock()
            notifier.status(line.text { localTime($0, now: now) })
        } catch {
            // What ends the store ends the runner, which tells why.
            logger.debug("no status: \(error)")
        }
        // The seconds that are left change by themselves.
        switch snapshot.phase {
        case .draining, .interrupting: changes.wake()
        case .starting, .running, .ended: break
        }
        return true
    }
}

private final class Writing: Sendable {
    let problem = Mutex<StoreError?>(nil)
}

/// A bell that is rung from anywhere; several rings before it is heard count as one.
struct Wakeups: Sendable {
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func wake() { continuation.yield() }
    func finish() { continuation.finish() }
}
