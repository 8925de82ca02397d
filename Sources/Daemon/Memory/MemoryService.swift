import API
import Jobs
import Logging
import ServiceLifecycle
import Systemd

/// Frees the store's caches when memory runs short. Without pressure it never wakes (P10).
struct MemoryService: Service {
    /// The file to watch and what to write to it, from the environment that systemd set.
    let watched: (path: String, setting: String?)
    /// Frees the store's caches, and returns how many bytes.
    let releaseMemory: @Sendable () async -> Int
    let logger: Logger

    func run() async throws {
        let wakeups = Wakeups()
        let pressure = MemoryPressure(path: watched.path, setting: watched.setting) { wakeups.wake() }
        guard let pressure else {
            logger.debug("memory pressure is not watched: \(watched.path) cannot be opened or is /dev/null")
            return try await gracefulShutdown()
        }
        defer { pressure.end() }
        await cancelWhenGracefulShutdown {
            for await _ in wakeups.stream {
                let bytes = await releaseMemory()
                FreedMemory.returnToSystemSoon()
                logger.debug("memory is low: freed \(bytes / 1024) KiB of caches")
            }
        }
    }
}
