import ControlProtocol
import Glibc
import JobFiles
import Jobs
import Runner
import StoreControl

extension DaemonHooks {
    /// Creates the hooks through which the control verbs reach the daemon.
    init(
        runner: JobRunner, workers: WorkerSet, startedAt: Timestamp, spool: Spool?, identity: String?,
        sharesSpool: Bool, files: JobFiles,
        problems: @escaping @Sendable () -> [String],
        beginInputCheck: @escaping @Sendable () -> InputCheck,
        reload: @escaping @Sendable () async throws(ControlProblem) -> ReloadReport
    ) {
        self.init(
            condition: {
                let snapshot = runner.snapshot
                let state: StatusReport.State =
                    switch snapshot.phase {
                    case .starting: .recovering
                    case .running: .running
                    case .draining, .interrupting: .draining
                    case .ended: .stopped
                    }
                return Condition(
                    state: state, pid: getpid(), startedAt: startedAt,
                    problems: problems() + [snapshot.problem?.description].compactMap { $0 }
                        + (snapshot.drainedAt.map { ["drained since \($0.iso8601): it starts no jobs"] } ?? [])
                        + snapshot.stuck.map { "\($0.subject); the daemon's log says why." },
                    slots: Slots(used: snapshot.running + snapshot.abandoned, limit: snapshot.slots))
            },
            progress: { runner.progress(of: $0) },
            observeProgress: { scope, observer in
                let events = runner.events.subscribe(scope)
                // The task ends when the observation is cancelled or released, or when the runner ends.
                let task = Task {
                    for await case .progress(let job, let progress) in events { observer(job, progress) }
                }
                return StoreObservation { task.cancel() }
            },
            workers: { workers.records(now: wallClock()) },
            waitForWorker: { kind, isSuspect in workers.wait(of: kind, isSuspect: isSuspect) },
            reload: reload, beginInputCheck: beginInputCheck, spool: spool, identity: identity,
            sharesSpool: sharesSpool, files: files, maxCrashes: runner.maxRescues)
    }
}
