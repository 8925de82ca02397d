import ControlProtocol
import Jobs

extension StoreControl {
    public func daemons() async throws(ControlProblem) -> [DaemonRecord] {
        let now = now()
        return try await mappingStoreErrors(await store.holders()).map { life in
            let isRunning = life.endedAt == nil
            return DaemonRecord(
                lease: life.id.rawValue, name: life.holder.name, host: life.holder.host, version: life.holder.version,
                state: isRunning ? .running : .ended, queues: life.holder.queues, kinds: life.kinds,
                running: life.running, startedAt: life.startedAt,
                // A life without a lease lasts because its process runs.
                seenAt: isRunning && life.aliveUntil == nil ? now : life.seenAt, aliveUntil: life.aliveUntil,
                endedAt: life.endedAt)
        }
    }
}
