import ControlProtocol
import Jobs

/// Formats why a job is not running, one reason per line.
enum WaitText {
    /// - Parameter start: How to start a daemon, for the case that none runs.
    static func lines(_ explanation: WaitExplanation, start: String, now: Timestamp) -> [StyledText] {
        ["\("job \(explanation.job)", .bold) is " + explanation.state.text]
            + explanation.reasons.map { "  " + line($0, of: explanation.job, start: start, now: now) }
    }

    private static func line(
        _ reason: WaitExplanation.Reason, of job: JobID, start: String, now: Timestamp
    ) -> StyledText {
        switch reason {
        case .dependency(let job):
            "waits for job \(job.job) (\(job.node ?? job.definition)) to be \(job.condition.name), which is "
                + job.state.text
        case .moreDependencies(let count): "waits for \(AmountText.count(count, "more job"))"
        case .time(let until): "waits for its time: \(TimeText.both(until, now: now))"
        case .retry(let until, let code):
            "failed with \(code, .red); the next try is due \(TimeText.both(until, now: now))"
        case .queuePaused(let queue): "queue \(queue) is paused; to resume it: halyard queues resume \(queue)"
        case .queueLimit(let queue, let running, let limit):
            "queue \(queue) runs \(AmountText.count(running, "job")) of at most \(limit); change it with: halyard queues set \(queue) --limit N"
        case .queueLimitPerDaemon(let queue, let limit, let daemons) where daemons.count == 1:
            "queue \(queue) is at its limit of \(limit) on the daemon \(daemons[0]); change it with: halyard queues set \(queue) --limit-per-daemon N"
        case .queueLimitPerDaemon(let queue, let limit, let daemons):
            "queue \(queue) is at its limit of \(limit) on each of \(AmountText.count(daemons.count, "daemon")); change it with: halyard queues set \(queue) --limit-per-daemon N"
        case .slots(let running, let limit):
            "the daemon runs \(AmountText.count(running, "job")) of at most \(limit) in all queues together; change it with slots in its configuration"
        case .turn(let queue, let ready):
            ready == 0
                ? "starts as soon as the daemon claims it"
                : "waits for its turn: \(AmountText.count(ready, "other ready job")) in queue \(queue)"
        case .trial(let jobs, let until) where jobs.isEmpty:
            "waits until \(TimeText.both(until, now: now)) for jobs that must run apart from others after several crashes, and that another transaction has locked"
        case .trial(let jobs, let until):
            jobs.contains(job)
                ? "runs apart from other jobs until \(TimeText.both(until, now: now)), since it was running in several crashes"
                : jobs.count == 1
                    ? "waits for job \(jobs[0]), which runs apart from others until \(TimeText.both(until, now: now)) after several crashes"
                    : "waits for \(AmountText.count(jobs.count, "job")), which run apart from others until \(TimeText.both(until, now: now)) after several crashes"
        case .home(let daemon, let endedAt?, _):
            "waits for the daemon \(daemon), which has its file and ended \(TimeText.both(endedAt, now: now))"
        case .home(let daemon, nil, let drainedAt?):
            "waits for the daemon \(daemon), which has its file and is drained since \(TimeText.both(drainedAt, now: now)); to resume it: halyard daemons resume \(daemon)"
        case .home(let daemon, nil, nil): "runs only on the daemon \(daemon), which has its file"
        case .unserved(let queue, let kind, let daemon):
            "\(daemon.map { "the daemon \($0) does not serve" } ?? "no running daemon serves") \(serving(queue, kind)); see: halyard daemons"
        case .drained(let daemons):
            "every running daemon that serves it is drained; to resume one: halyard daemons resume \(daemons.first ?? "NAME")"
        case .worker(let problem): "\(problem); see: halyard workers"
        case .workerLimit(let worker, let running, let limit):
            "worker \(worker) runs \(AmountText.count(running, "attempt")) of at most \(limit); change it with processes and attempts in the daemon's configuration"
        case .suspect(let worker):
            "was running when a process of worker \(worker) crashed, so it waits for a process to itself"
        case .store(let problem): "the daemon starts no job: \(problem)"
        case .noDaemon: "no daemon runs. \(start)"
        case .running(let attempt, let since): "runs attempt \(attempt) since \(TimeText.both(since, now: now))"
        // The message of a crashed job usually contains the command.
        case .final(.failed, let failure?) where !failure.message.contains("halyard retry"):
            failure.text + "\n  after correcting the cause, run it again with: halyard retry \(job)"
        case .final(_, let failure?): failure.text
        case .final(let outcome, nil):
            "is final: \(outcome.name, outcome.state.style); see: halyard result \(job)"
        case .unmet(let job, let failure):
            "needed job \(job.job) (\(job.node ?? job.definition)) to be \(job.condition.name), which is "
                + job.state.text + (failure.map { ": " + $0.text } ?? StyledText())
        }
    }

    private static func serving(_ queue: String?, _ kind: String?) -> String {
        switch (queue, kind) {
        case (let queue?, let kind?): "both queue \(queue) and kind \(kind)"
        case (let queue?, nil): "queue \(queue)"
        case (nil, let kind): "kind \(kind ?? "")"
        }
    }
}
