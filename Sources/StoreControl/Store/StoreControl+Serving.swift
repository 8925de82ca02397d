import ControlProtocol
import Jobs

/// The daemons that can start a job.
extension StoreControl {
    /// Returns a reason if no daemon could start a job: no daemon runs, neither this process nor another holder of the
    /// store; no running daemon serves the job; or all that serve it are drained.
    ///
    /// - Parameter home: The only daemon that can run the job, since it has a file that the job needs.
    func absentDaemons(
        for job: JobRecord, home: JobHome? = nil
    ) async throws(StoreError) -> [WaitExplanation.Reason] {
        if store.capabilities.holders == .one, daemon == nil { return [.noDaemon] }
        let running = try await runningDaemons()
        if running.isEmpty { return daemon == nil ? [.noDaemon] : [] }
        // If the home does not run, its own reason is enough.
        let able = running.filter { home?.identity ?? $0.holder.identity == $0.holder.identity }
        if able.isEmpty { return [] }
        let serving = able.filter { serves($0, job) }
        if serving.isEmpty {
            let servesQueue = able.contains { $0.holder.serves(queue: job.queue) }
            let servesKind = able.contains { serves($0, kind: job.kind) }
            return [
                .unserved(
                    queue: servesQueue && !servesKind ? nil : job.queue,
                    kind: servesKind && !servesQueue ? nil : job.kind, daemon: home?.name)
            ]
        }
        // The reason `home` already says whether the home is drained.
        guard home == nil, serving.allSatisfy({ $0.drainedAt != nil }) else { return [] }
        return [.drained(daemons: serving.map(\.holder.name))]
    }

    /// Returns the daemons that could start the job, if each of them already runs as many jobs of the queue as one
    /// daemon may; otherwise none.
    func daemonsAtLimit(
        of queue: QueueSettings, for job: JobRecord, home: JobHome?
    ) async throws(StoreError) -> [String] {
        guard let limit = queue.limitPerDaemon else { return [] }
        let candidates = try await runningDaemons().filter { daemon in
            daemon.drainedAt == nil && serves(daemon, job)
                && home?.identity ?? daemon.holder.identity == daemon.holder.identity
        }
        let isFull = candidates.allSatisfy { $0.runningByQueue[queue.name] ?? 0 >= limit }
        return isFull ? candidates.map(\.holder.name) : []
    }

    /// Whether this process is a daemon that can run a job.
    func servesHere(_ job: JobRecord, home: JobHome?) async throws(StoreError) -> Bool {
        guard let daemon else { return false }
        if let home, home.identity != daemon.identity { return false }
        // A daemon without an identity has the store to itself.
        guard let own = try await runningDaemons().last(where: { $0.holder.identity == daemon.identity }) else {
            return true
        }
        return serves(own, job)
    }

    private func runningDaemons() async throws(StoreError) -> [HolderRecord] {
        try await store.holders().filter { $0.endedAt == nil }
    }

    private func serves(_ daemon: HolderRecord, _ job: JobRecord) -> Bool {
        daemon.holder.serves(queue: job.queue) && serves(daemon, kind: job.kind)
    }

    /// Whether a daemon claims jobs of a kind. A daemon that has the store to itself also claims jobs of a kind that it
    /// does not have, and ends them with an error.
    private func serves(_ daemon: HolderRecord, kind: String) -> Bool {
        store.capabilities.holders == .one
            ? daemon.holder.kinds?.contains(kind) ?? true : daemon.kinds.contains(kind)
    }
}
