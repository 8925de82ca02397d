import Jobs
import OperationTypes
import Synchronization

/// One attempt, from its claim to its end: the job, its definition, and the means to stop the attempt.
final class RunningAttempt: Sendable {
    let job: ClaimedJob
    /// The life that claimed the job.
    let holder: HolderID
    let definition: PreparedDefinition
    let connections: ConnectionLog
    private let cancellation = CancellationTokenSource()
    private let task = Mutex<TaskState>(.notStarted)
    private let progress = Mutex(Progress())
    private let measured = Mutex<AttemptUsage?>(nil)
    let saves = Mutex(AttemptSaves())

    private enum TaskState {
        case notStarted
        case started(Task<Void, Never>)
        case hosted(by: any KindHost)
        case stopped(StopReason)
    }

    private struct Progress {
        var latest: OperationProgress?
        var sentAt: Duration?
        var isOver = false
    }

    /// The minimum interval between two progress reports to subscribers.
    static let progressInterval = Duration.milliseconds(100)

    init(job: ClaimedJob, by holder: HolderID, definition: PreparedDefinition, connections: ConnectionLog) {
        self.job = job
        self.holder = holder
        self.definition = definition
        self.connections = connections
    }

    var lease: Lease { job.lease }
    var token: CancellationToken { cancellation.token }

    /// Lets a request to stop cancel this task, which runs the attempt or prepares it for a host.
    func adopt(_ started: Task<Void, Never>) {
        let isStopped = task.withLock { state in
            switch state {
            case .notStarted: state = .started(started)
            // The task has already passed the attempt to the host.
            case .started, .hosted: break
            case .stopped: return true
            }
            return false
        }
        if isStopped { started.cancel() }
    }

    /// Lets a host run the attempt.
    ///
    /// - Returns: False if the attempt was already asked to stop, so that it must not start.
    func adopt(_ host: any KindHost) -> Bool {
        task.withLock { state in
            if case .stopped = state { return false }
            state = .hosted(by: host)
            return true
        }
    }

    /// The host that runs the attempt; nil if this process runs it.
    var host: (any KindHost)? { definition.kind?.host }

    /// Whether the attempt was asked to stop and its job will not run again. Only the first reason to stop counts.
    var isStoppedForGood: Bool {
        guard case .stopped(let reason) = task.withLock(\.self) else { return false }
        return switch reason {
        case .cancelled: true
        case .timedOut: isLast(JobFailure.Code.timedOut, isRetryable: true)
        case .interrupted, .lapsed: false
        }
    }

    /// Whether the job fails permanently if this attempt fails with this code. If the attempt was asked to stop, only
    /// the reason for stopping decides.
    func wouldEnd(with code: String, isRetryable: Bool) -> Bool {
        if case .stopped = task.withLock(\.self) { return isStoppedForGood }
        return isLast(code, isRetryable: isRetryable)
    }

    private func isLast(_ code: String, isRetryable: Bool) -> Bool {
        definition.definition.retry.decide(
            afterTry: job.tries + 1, code: code, isRetryable: isRetryable, random: 0) == .stop
    }

    /// Cancels the token and the task. Closures registered with the token run on this thread.
    func stop(_ reason: StopReason) {
        let previous = task.withLock { state in
            defer { state = .stopped(reason) }
            return state
        }
        cancellation.cancel()
        switch previous {
        case .started(let task): task.cancel()
        case .hosted(let host): host.stop(lease, HostedStop(reason, isForGood: isStoppedForGood))
        case .notStarted, .stopped: break
        }
    }

    /// The resources that the attempt used; nil if nothing was measured.
    var usage: AttemptUsage? { measured.withLock(\.self) }

    func note(_ usage: AttemptUsage) { measured.withLock { $0 = usage } }

    var latestProgress: OperationProgress? { progress.withLock(\.latest) }

    /// Stores a progress report.
    ///
    /// - Returns: Whether the report should be sent to subscribers now.
    func report(_ report: OperationProgress, now: Duration) -> Bool {
        progress.withLock { progress in
            if progress.isOver { return false }
            progress.latest = report
            if let sentAt = progress.sentAt, now - sentAt < Self.progressInterval { return false }
            progress.sentAt = now
            return true
        }
    }

    /// Ignores all later reports.
    func endProgress() { progress.withLock { $0.isOver = true } }
}

extension HostedStop {
    fileprivate init(_ reason: StopReason, isForGood: Bool) {
        self =
            switch reason {
            case .cancelled: .cancelled
            case .timedOut: .timedOut(isForGood: isForGood)
            case .interrupted, .lapsed: .interrupted
            }
    }
}
