import Jobs

extension ClaimLoop {
    func snapshot(now: Duration) -> RunnerSnapshot {
        let phase: RunnerSnapshot.Phase =
            switch self.phase {
            case .running: hasExchanged ? .running : .starting
            case .draining(let until): .draining(left: max(until - now, .zero))
            case .interrupting: .interrupting
            case .ended: .ended
            }
        return RunnerSnapshot(
            phase: phase, running: attempts.count - abandonedCount, abandoned: abandonedCount, slots: settings.slots,
            unrecorded: ends.count + preparing.count + ((inFlight ?? unanswered)?.batch.ends.count ?? 0),
            awaitsStore: inFlight != nil, drainedAt: drainedAt)
    }

    func attempt(of job: JobID) -> RunningAttempt? {
        attempts.values.first { $0.attempt.lease.job == job && !$0.isAbandoned }?.attempt
    }
}
