import Jobs
import Logging
import Runner
import ServiceLifecycle
import Systemd

/// Keeps the status line up to date. It sends a new line after a change, at most one per interval, and counts
/// down while the runner drains. It does not wake an idle daemon (P10).
struct StatusService: Service {
    let store: any JobStore
    let runner: JobRunner
    let notifier: Notifier
    let interval: Duration
    let problems: @Sendable () -> [String]
    let changes: Wakeups
    let logger: Logger

    func run() async throws {
        let observation = store.observe { [changes] _ in changes.wake() }
        defer { observation.cancel() }
        // Send a line now, since a long recovery reports no change until it ends.
        changes.wake()
        await cancelWhenGracefulShutdown {
            for await _ in changes.stream {
                guard await sendStatus() else { continue }
                try? await Task.sleep(for: interval)  // Only cancellation ends it early, and also ends the loop.
            }
        }
    }

    /// - Returns: False if there was nothing to report.
    private func sendStatus() async -> Bool {
        let snapshot = runner.snapshot
        // The store may be closed already, and the daemon itself reports how it ended.
        if snapshot.phase == .ended { return false }
        do throws(StoreError) {
            let counts = try await store.counts()
            // The daemon is about to become ready. A line sent now would delay the next one by an interval.
            if snapshot.phase == .starting, counts[.running] == 0 { return false }
            let refused = try await store.refusedScheduleCount()
            var problems = problems()
            if refused > 0 {
                problems.append(
                    "\(refused == 1 ? "1 schedule" : "\(refused) schedules") refused, see halyard schedules")
            }
            let next = [try await store.nextDueAt(), try await store.nextScheduleAt()].compactMap(\.self).min()
            let line = StatusLine(runner: snapshot, counts: counts, nextDueAt: next, problems: problems)
            let now = now(of: store)
            notifier.status(line.text { localTime($0, now: now) })
        } catch {
            // An error that ends the store also ends the runner, which reports it.
            logger.debug("no counts for the status: \(error)")
            guard error.isPassing else { return true }
            var runner = snapshot
            runner.problem = runner.problem ?? error
            let line = StatusLine(runner: runner, counts: nil, nextDueAt: nil, problems: problems())
            notifier.status(line.text { localTime($0, now: now(of: store)) })
        }
        // The remaining seconds change without an event.
        switch snapshot.phase {
        case .draining, .interrupting: changes.wake()
        case .starting, .running, .ended: break
        }
        return true
    }
}

/// A wake-up signal that any thread can send. Several signals before the receiver wakes count as one.
struct Wakeups: Sendable {
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func wake() { continuation.yield() }

    /// Calls `body` after each wake-up, until the daemon shuts down. After an error that may pass, calls it again after
    /// a pause.
    func forEach(
        retryingAfter pause: Duration, onRetry: (StoreError) -> Void = { _ in },
        _ body: () async throws(StoreError) -> Void
    ) async throws {
        for await _ in stream.cancelOnGracefulShutdown() {
            do throws(StoreError) {
                try await body()
            } catch {
                guard error.isPassing else { throw error }
                onRetry(error)
                let sleep = { @Sendable in try await Task.sleep(for: pause) }
                try? await cancelWhenGracefulShutdown(sleep)  // Only a shutdown ends it early.
                wake()
            }
        }
    }
}
