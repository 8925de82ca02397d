import Jobs

extension StoreControl {
    public func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation {
        let job = try await record(id)
        do throws(StoreError) {
            return WaitExplanation(job: id, state: job.state, reasons: try await reasons(job))
        } catch {
            throw ControlProblem(error)
        }
    }

    private func reasons(_ job: JobRecord) async throws(StoreError) -> [WaitExplanation.Reason] {
        if let outcome = job.state.outcome { return [.final(outcome)] }
        if job.state == .running { return [.running(attempt: job.attempt, since: job.startedAt ?? job.enqueuedAt)] }
        var reasons: [WaitExplanation.Reason] = []
        if job.state == .blocked { reasons += try await openDependencies(of: job).map { .dependency($0) } }
        if job.state == .scheduled || job.state == .blocked, let dueAt = job.dueAt, dueAt > now() {
            let last = try await store.attempts(of: job.id).last
            if let last, let failure = last.failure, last.retryAt == dueAt {
                reasons.append(.retry(until: dueAt, afterCode: failure.code))
            } else {
                reasons.append(.time(until: dueAt))
            }
        }
        if let queue = try await store.queues().first(where: { $0.settings.name == job.queue }) {
            reasons += Self.reasons(job, queue)
        }
        if daemon == nil { reasons.append(.noDaemon) }
        return reasons
    }

    private func openDependencies(of job: JobRecord) async throws(StoreError) -> [JobDetail.Neighbour] {
        try await neighbours(store.dependencies(of: job.id), \.dependency).filter { !$0.state.isFinal }
    }

    private static func reasons(_ job: JobRecord, _ queue: QueueRecord) -> [WaitExplanation.Reason] {
        let name = queue.settings.name
        if queue.pausedAt != nil { return [.queuePaused(queue: name)] }
        guard job.state == .ready else { return [] }
        let running = queue.counts[.running]
        if running >= queue.settings.limit {
            return [.queueLimit(queue: name, running: running, limit: queue.settings.limit)]
        }
        return [.turn(queue: name, ready: queue.counts[.ready])]
    }
}
