import ControlProtocol
import Jobs
import OperationTypes

/// The text for a watcher: changes as permanent lines and, on a terminal, a block of the running jobs below
/// them.
///
/// A value without I/O: events go in, text comes out.
struct WatchView {
    private(set) var counts = StateCounts()
    /// The last known state of every reported job.
    private(set) var states: [JobID: JobState] = [:]
    private var running: [JobID: JobRecord] = [:]
    private var progress: [JobID: OperationProgress] = [:]
    private var rates = WatchRates()
    /// When progress was last printed outside a terminal: at most once a second for each job.
    private var printedAt: [JobID: Duration] = [:]
    private let isLive: Bool

    /// - Parameter isLive: Whether progress is shown in the block instead of as lines.
    init(isLive: Bool) { self.isLive = isLive }

    /// - Parameter elapsed: The time on a monotonic clock.
    /// - Returns: The permanent lines to print.
    mutating func apply(_ event: WatchEvent, at elapsed: Duration, now: Timestamp) -> [StyledText] {
        switch event {
        case .job(let job): return change(job, now: now)
        case .progress(let job, let attempt, let amount):
            progress[job] = amount
            rates.record(amount, of: job, at: elapsed)
            if isLive { return [] }
            if let last = printedAt[job], elapsed - last < .seconds(1) { return [] }
            printedAt[job] = elapsed
            return [
                "\(now.iso8601, .dim)  job \(job) attempt \(attempt)  "
                    + ProgressText.line(amount, rate: rates.rate(of: job))
            ]
        case .missed: return ["\("some changes were left out; the present states follow", .dim)"]
        case .final: return []
        }
    }

    private mutating func change(_ job: JobRecord, now: Timestamp) -> [StyledText] {
        let before = states[job.id]
        if let before { counts[before] -= 1 }
        counts[job.state] += 1
        states[job.id] = job.state
        if job.state == .running {
            running[job.id] = job
        } else {
            running[job.id] = nil
            progress[job.id] = nil
            printedAt[job.id] = nil
            rates.forget(job.id)
        }
        // On a terminal, the block shows running jobs and the last line counts waiting ones.
        if isLive && !job.state.isFinal && !(before == .running && job.state == .scheduled) { return [] }
        return [line(job, now: now)]
    }

    private func line(_ job: JobRecord, now: Timestamp) -> StyledText {
        let name: StyledText = "job \(job.id)  \(job.title)  "
        let when = JobTable.when(job, now: now)
        let tail: StyledText = when.isEmpty ? StyledText() : "  \(when.plain, .dim)"
        return (isLive ? StyledText() : "\(now.iso8601, .dim)  ") + name + job.state.text + tail
    }

    /// Returns the block of the running jobs, at most `height` lines.
    func block(height: Int, now: Timestamp) -> [StyledText] {
        var lines: [StyledText] = []
        let shown = running.values.sorted { $0.id < $1.id }
        let room = max(1, height - 2)
        for job in shown.prefix(room) {
            var line: StyledText = "\(JobState.running.mark, .blue) \(job.id)  \(job.title, .bold)  "
            if let amount = progress[job.id] {
                line += ProgressText.line(amount, rate: rates.rate(of: job.id))
            } else {
                line += JobTable.when(job, now: now)
            }
            lines.append(line)
        }
        if shown.count > room { lines.append("\("  and \(shown.count - room) more", .dim)") }
        lines.append(counts.text)
        return lines
    }

    var hasRunning: Bool { !running.isEmpty }
}
