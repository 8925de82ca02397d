import Jobs
import OperationTypes
import Synchronization

extension JobRunner {
    /// Waits for the first exchange of the claim loop.
    ///
    /// - Returns: True after the first exchange; false if the runner ended before that.
    public func waitUntilReady() async -> Bool { await ready.uncancellableWait() }

    /// Stops claiming jobs, waits for running attempts, and interrupts them after `limit`. Interrupted jobs are ready
    /// again, and no try is used up (P7). This method returns shortly before ``run()``, which throws if there was an
    /// error.
    public func drain(limit: Duration) async {
        handle(.drain(limit: limit))
        await ended.uncancellableWait()
    }

    /// Interrupts all running attempts now, and returns immediately.
    public func interrupt() { handle(.interrupt) }

    /// Changes the settings with immediate effect. If there are fewer slots, running attempts still continue to their
    /// ends. ``RunnerSettings/maxRescues`` applies only when the runner starts.
    public func apply(_ settings: RunnerSettings) {
        core.withLock { $0.life.apply(grace: settings.grace) }
        handle(.settings(settings))
    }

    /// The kinds that this runner runs.
    public var kinds: KindRegistry { inForce.withLock(\.registry) }

    /// Exchanges the kinds for attempts that begin later. Attempts that run keep their hosts until they end.
    public func use(_ kinds: KindRegistry) {
        inForce.withLock { inForce in
            let revision = inForce.revision + 1
            inForce = KindsInForce(kinds)
            inForce.revision = revision
        }
        observeRoom()
        handle(.wake)
    }

    /// The current state of the runner.
    public var snapshot: RunnerSnapshot {
        let now = uptimeClock.now
        var snapshot = core.withLock { core in
            var snapshot = core.loop.snapshot(now: now)
            snapshot.hasLapsed = core.life.hasLapsed
            return snapshot
        }
        let condition = store.condition
        snapshot.problem = condition.problem
        snapshot.stuck = condition.stuck
        return snapshot
    }

    /// The latest progress report of a job's running attempt; nil if there is none.
    public func progress(of job: JobID) -> OperationProgress? {
        core.withLock { $0.loop.attempt(of: job) }?.latestProgress
    }

    /// Proves that the claim loop makes progress: returns true after the store has answered an
    /// exchange that began after this call. If either hangs, it does not return until the calling task is cancelled.
    ///
    /// An answer such as "busy" or "disk full" also proves progress; ``snapshot`` contains the error.
    ///
    /// - Returns: False if the runner has ended, if the calling task was cancelled, or if abandoned attempts
    ///   occupy every slot (``RunnerSettings/grace``).
    public func proveProgress() async -> Bool {
        let proof = Latch<Bool>()
        handle(.proofWanted(proof))
        return await proof.wait() ?? false
    }
}
