import Jobs
import Logging
import ServiceLifecycle

/// Lets the kinds remove what ended jobs left elsewhere, such as parts of an upload on a server. It runs at the
/// start, after jobs were cancelled or failed, and every `interval` while something remains. Otherwise it does
/// not wake an idle daemon (P10).
struct CleanUpService: Service {
    let store: any JobStore
    let kinds: @Sendable () -> KindRegistry
    var interval = Duration.seconds(3600)
    /// The shortest time between two rounds, however many jobs are cancelled.
    var pause = Duration.seconds(5)
    let logger: Logger

    func run() async throws {
        let wakeups = Wakeups()
        let observation = store.observe { change in
            switch change {
            case .jobs(let changes):
                if changes.contains(where: { $0.state == .cancelled || $0.state == .failed }) { wakeups.wake() }
            case .missed: wakeups.wake()
            case .accepted, .work, .queues, .definitions, .schedules, .holders, .condition, .stopped: break
            }
        }
        defer { observation.cancel() }
        wakeups.wake()
        await cancelWhenGracefulShutdown {
            // Wakes the loop once more after the interval. At most one timer runs.
            var timer: Task<Void, Never>?
            defer { timer?.cancel() }
            for await _ in wakeups.stream {
                timer?.cancel()
                timer = nil
                if await isAnythingLeft() {
                    timer = Task {
                        do { try await Task.sleep(for: interval) } catch { return }
                        wakeups.wake()
                    }
                }
                try? await Task.sleep(for: pause)  // Only cancellation ends it early, and also ends the loop.
            }
        }
    }

    private func isAnythingLeft() async -> Bool {
        let kinds = kinds()
        var isAnythingLeft = false
        for host in kinds.hosts {
            let isLeft = await host.cleanUp { [store] job, kind throws(StoreError) in
                guard let record = try await store.job(job), record.kind == kind else { return nil }
                return record.state
            }
            isAnythingLeft = isLeft || isAnythingLeft
        }
        for kind in kinds.all.compactMap(\.kind) {
            do throws(StoreError) {
                let isLeft = try await kind.cleanUp { job throws(StoreError) in
                    // If a job of another kind has this number, the leftover comes from another database, and its
                    // job is unknown here.
                    guard let record = try await store.job(job), record.kind == type(of: kind).name else { return nil }
                    return record.state
                }
                isAnythingLeft = isLeft || isAnythingLeft
            } catch {
                // An error that ends the store also ends the runner, which reports it.
                logger.debug("leftover uploads were not deleted: \(error)")
                isAnythingLeft = true
            }
        }
        return isAnythingLeft
    }
}
