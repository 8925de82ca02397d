import ControlProtocol
import Jobs

extension StoreControl {
    public func daemons() async throws(ControlProblem) -> [DaemonRecord] {
        let now = now()
        return try await mappingStoreErrors(await store.holders()).map { DaemonRecord($0, now: now) }
    }

    public func setDrained(_ isDrained: Bool, daemon name: String) async throws(ControlProblem) -> DaemonRecord {
        if store.capabilities.holders == .one {
            throw ControlProblem(
                .conflict,
                "The database is a file with one daemon, so no other daemon could run the jobs. To start no jobs: halyard queues pause NAME"
            )
        }
        let lives = try await mappingStoreErrors(await store.holders())
        let named = lives.filter { $0.holder.name == name }
        let living = named.filter { $0.endedAt == nil }
        // A daemon whose home was made anew has a new identity; the old one has the same name.
        let identities = Set((living.isEmpty ? named : living).map(\.holder.identity))
        guard let identity = identities.first else {
            throw .unknown("daemon", name, among: Set(lives.map(\.holder.name)).sorted())
        }
        guard identities.count == 1 else {
            throw ControlProblem(
                .conflict,
                "\(identities.count) daemons are named \"\(name)\". Give each its own name (the key daemon.name).")
        }
        _ = try await mappingStoreErrors(await store.setDrained(isDrained, identity: identity, now: now()))
        let changed = try await mappingStoreErrors(await store.holders()).last { $0.holder.identity == identity }
        guard let changed else { throw .unknown("daemon", name, among: []) }
        return DaemonRecord(changed, now: now())
    }
}

extension DaemonRecord {
    init(_ life: HolderRecord, now: Timestamp) {
        let isRunning = life.endedAt == nil
        self.init(
            lease: life.id.rawValue, name: life.holder.name, host: life.holder.host, version: life.holder.version,
            state: isRunning ? .running : .ended, queues: life.holder.queues, kinds: life.kinds,
            running: life.running, startedAt: life.startedAt,
            // A life without a lease lasts because its process runs.
            seenAt: isRunning && life.aliveUntil == nil ? now : life.seenAt, aliveUntil: life.aliveUntil,
            endedAt: life.endedAt, drainedAt: life.drainedAt)
    }
}
