import ControlProtocol
import Jobs

extension StoreControl {
    public func why(_ id: JobID) async throws(ControlProblem) -> WaitExplanation {
        let job = try await record(id)
        return WaitExplanation(
            job: id, state: job.state, reasons: try await mappingStoreErrors(await reasons(job)))
    }

    private func reasons(_ job: JobRecord) async throws(StoreError) -> [WaitExplanation.Reason] {
        if let outcome = job.state.outcome { return try await ends(of: job, outcome) }
        if job.state == .running {
            return [.running(attempt: job.attempt, startedAt: job.startedAt ?? job.enqueuedAt)]
                + (try await trial(of: job)) + (try await absentDaemons(for: job).filter { $0 == .noDaemon })
        }
        var reasons: [WaitExplanation.Reason] = []
        if job.state == .blocked {
            let open = try await store.dependencies(of: job.id, onlyOpen: true, limit: Self.maxNamedDependencies)
            reasons += open.jobs.map { .dependency($0) }
            if open.count > open.jobs.count { reasons.append(.moreDependencies(open.count - open.jobs.count)) }
        }
        if job.state == .scheduled || job.state == .blocked, let dueAt = job.dueAt, dueAt > now() {
            let last = try await store.attempts(of: job.id).last
            if let last, let error = last.error, last.retryAt != nil {
                reasons.append(.retry(dueAt: dueAt, afterCode: error.code))
            } else {
                reasons.append(.time(dueAt: dueAt))
            }
        }
        let home = try await store.home(of: job.id)
        if let home {
            reasons.append(.home(daemon: home.name, endedAt: home.endedAt, drainedAt: home.drainedAt))
        }
        // Only a daemon that can run the job knows whether it has room for it.
        let daemon = try await servesHere(job, home: home) ? daemon : nil
        if let queue = try await store.queues().first(where: { $0.settings.name == job.queue }) {
            let full = try await daemonsAtLimit(of: queue.settings, for: job, home: home)
            reasons += Self.reasons(job, queue, full, await daemon?.condition().slots)
        }
        if job.state == .ready {
            if let wait = try await waitForWorker(of: job, daemon) {
                // The job's turn has come, but its worker has no room.
                reasons.removeAll { if case .turn = $0 { true } else { false } }
                reasons.append(wait)
            }
            reasons += try await trial(of: job)
        }
        if home?.endedAt != nil || home?.drainedAt != nil {
            reasons.removeAll { if case .turn = $0 { true } else { false } }
        }
        if daemon != nil, let problem = store.condition.problem {
            reasons.removeAll { if case .turn = $0 { true } else { false } }
            reasons.append(.store(problem: problem.description))
        }
        let absent = try await absentDaemons(for: job, home: home)
        if absent.contains(where: { if case .unserved = $0 { true } else { false } }) {
            reasons.removeAll { if case .turn = $0 { true } else { false } }
        }
        return reasons + absent
    }

    /// Returns the reason why the worker of a ready job's kind cannot begin it now.
    private func waitForWorker(
        of job: JobRecord, _ daemon: DaemonHooks?
    ) async throws(StoreError) -> WaitExplanation.Reason? {
        guard let daemon else { return nil }
        let last = try await store.attempts(of: job.id).last { $0.outcome != .interrupted }
        return daemon.waitForWorker(job.kind, last?.outcome == .crashed)
    }

    /// Returns the trial that a ready job waits for, or that a running job is part of.
    private func trial(of job: JobRecord) async throws(StoreError) -> [WaitExplanation.Reason] {
        guard let trials = try await store.trials(now: now()), let endsAt = trials.endsAt,
            job.state == .ready || trials.running.contains(job.id)
        else { return [] }
        return [.trial(of: trials.running, endsAt: endsAt)]
    }

    /// Returns how a job ended and, for a skipped job, the dependencies because of which it was skipped.
    private func ends(of job: JobRecord, _ outcome: Outcome) async throws(StoreError) -> [WaitExplanation.Reason] {
        var reasons: [WaitExplanation.Reason] = [.final(outcome, try await failure(of: job.id))]
        guard outcome == .skipped else { return reasons }
        let dependencies = try await store.dependencies(of: job.id, onlyOpen: false, limit: Self.maxNamedDependencies)
        for dependency in dependencies.jobs {
            guard let ended = dependency.state.outcome, !dependency.condition.isMet(by: ended) else { continue }
            reasons.append(.unmet(dependency, try await failure(of: dependency.job)))
        }
        return reasons
    }

    private func failure(of job: JobID) async throws(StoreError) -> JobFailure? {
        guard case .ended(_, let failure) = try await store.result(of: job)?.value else { return nil }
        return failure
    }

    static let maxNamedDependencies = 100

    private static func reasons(
        _ job: JobRecord, _ queue: QueueRecord, _ fullDaemons: [String], _ slots: DaemonHooks.Slots?
    ) -> [WaitExplanation.Reason] {
        let name = queue.settings.name
        if queue.pausedAt != nil { return [.queuePaused(queue: name)] }
        guard job.state == .ready else { return [] }
        var reasons: [WaitExplanation.Reason] = []
        let running = queue.counts[.running]
        if running >= queue.settings.limit {
            reasons.append(.queueLimit(queue: name, running: running, limit: queue.settings.limit))
        } else if let limit = queue.settings.limitPerDaemon, !fullDaemons.isEmpty {
            reasons.append(.queueLimitPerDaemon(queue: name, limit: limit, daemons: fullDaemons))
        }
        if let slots, slots.used >= slots.limit {
            reasons.append(.slots(running: slots.used, limit: slots.limit))
        }
        return reasons.isEmpty ? [.turn(queue: name, ready: queue.counts[.ready] - 1)] : reasons
    }
}
