import Jobs
import Logging
import ServiceLifecycle

/// Lets the kinds take back what ended jobs left elsewhere: at the start, when jobs were cancelled or failed, and every
/// interval while something is left. Otherwise an idle daemon sleeps here (P10).
struct TakingBackService: Service {
    let store: any JobStore
    let kinds: [any Kind]
    var interval = Duration.seconds(3600)
    /// At least so long lies between two rounds, however many jobs are cancelled.
    var pause = Duration.seconds(5)
    let logger: Logger

    func run() async throws {
        let bell = Wakeups()
        let observation = store.observe { change in
            guard case .jobs(let changes) = change else { return }
            if changes.contains(where: { $0.state == .cancelled || $0.state == .failed }) { bell.wake() }
        }
        defer { observation.cancel() }
        bell.wake()
        await cancelWhenGracefulShutdown {
            // Rings once more after the interval; the latest one counts.
            var timer: Task<Void, Never>?
            defer { timer?.cancel() }
            for await _ in bell.stream {
                timer?.cancel()
                timer = nil
                if await isAnythingLeft() {
                    timer = Task {
                        do { try await Task.sleep(for: interval) } catch { return }
                        bell.wake()
                    }
                }
                try? await Task.sleep(for: pause)  // Only cancellation ends it early, and the loop with it.
            }
        }
    }

    private func isAnythingLeft() async -> Bool {
        var isAnythingLeft = false
        for kind in kinds {
            do throws(StoreError) {
                let isLeft = try await kind.takeBack { job throws(StoreError) in
                    // A job of another kind left nothing of this one: the number is another database's.
                    guard let record = try await store.job(job), record.kind == type(of: kind).name else { return nil }
                    return record.state
                }
                isAnythingLeft = isLeft || isAnythingLeft
            } catch {
                // What ends the store ends the runner, which tells why.
                logger.debug("nothing taken back: \(error)")
                isAnythingLeft = true
            }
        }
        return isAnythingLeft
    }
}
