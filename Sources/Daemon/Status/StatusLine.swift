import Jobs
import Runner

/// The one line of `systemctl status`: a verb, then numbers, then what an administrator should know.
struct StatusLine: Sendable {
    var runner: RunnerSnapshot
    /// The counts of jobs; nil if the database cannot be read at the moment.
    var counts: StateCounts?
    var nextDueAt: Timestamp?
    var problems: [String]

    /// - Parameter localTime: Formats a time in the machine's time zone.
    func text(localTime: (Timestamp) -> String) -> String {
        var line: String
        switch runner.phase {
        case .starting:
            line = "recovering; \(counts?[.running] ?? 0) to rescue"
        case .running:
            // The problem comes first: callers are refused although everything else looks well.
            let verb =
                if let problem = runner.problem { "cannot write: \(problem)" } else {
                    runner.hasLapsed
                        ? "waiting for its lease"
                        : runner.drainedAt != nil ? "drained" : runner.running > 0 ? "running" : "idle"
                }
            line = "\(verb); \(runner.running) running"
            if runner.problem != nil, runner.hasLapsed { line += " (the lease was lost, and the attempts stopped)" }
            if let counts {
                line += ", \(counts[.ready]) ready, \(counts[.scheduled]) scheduled"
                if counts[.blocked] > 0 { line += ", \(counts[.blocked]) blocked" }
            }
            if let nextDueAt { line += ", next \(localTime(nextDueAt))" }
        case .draining(let left):
            let seconds = max(0, (left.milliseconds + 999) / 1000)
            line = "draining \(jobs(runner.running)), \(seconds) s left"
        case .interrupting:
            line = "interrupting \(jobs(runner.running))"
        case .ended:
            line = "stopped"
        }
        if runner.abandoned > 0 { line += "; \(jobs(runner.abandoned)) will not stop" }
        if let problem = runner.problem, runner.phase != .running { line += "; \(problem)" }
        if let first = runner.stuck.first {
            let others = runner.stuck.count - 1
            line += "; \(first.subject)\(others > 0 ? ", and \(others) more like it" : ""), see the journal"
        }
        for problem in problems { line += "; \(problem)" }
        return line
    }

    private func jobs(_ count: Int) -> String { count == 1 ? "1 job" : "\(count) jobs" }
}
