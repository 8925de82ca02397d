import Jobs
import OperationTypes
import Synchronization
import WorkerProtocol

/// One attempt, from its `run` to its end.
///
/// No message about the attempt follows its end: ``end(_:)`` and every other message take the same lock.
final class WorkerAttempt: Sendable {
    struct State {
        var task: Task<Void, Never>?
        var stop: StopRequest?
        var isOver = false
        var children: [ChildJob] = []
        var latestProgress: OperationProgress?
        var progressSentAt: ContinuousClock.Instant?
        var isProgressScheduled = false
        var saves = SaveQueue<SaveWaiter>()
        /// The number of the last `checkpoint` message.
        var lastSave = 0
    }

    /// The minimum interval between two `progress` messages.
    static let progressInterval = Duration.milliseconds(100)

    let run: Run
    /// Nil if the worker lacks the kind.
    let kind: RunnableKind?
    private let dependencies: [DependencyOutput]
    /// Whether the daemon accepts checkpoints.
    let savesCheckpoints: Bool
    let writer: MessageWriter
    private let connections: ConnectionLog
    private let cancellation = CancellationTokenSource()
    let state = Mutex(State())

    init(
        _ run: Run, kind: RunnableKind?, dependencies: [DependencyOutput], savesCheckpoints: Bool,
        writer: MessageWriter
    ) {
        self.run = run
        self.savesCheckpoints = savesCheckpoints
        self.kind = kind
        self.dependencies = dependencies
        self.writer = writer
        connections = ConnectionLog(now: { WallClock.now })
    }

    var lease: Lease { run.lease }

    // MARK: Running

    /// Starts the task of the attempt.
    ///
    /// - Parameter onEnd: Called by the task with the result.
    func start(
        _ kind: RunnableKind, among kinds: KindRegistry,
        onEnd: @escaping @Sendable (Result<JSONText, TryFailure>) -> Void
    ) {
        let payload = JobPayload(explicit: run.input, dependencies: dependencies)
        // Nothing awaits this task: its end is a message.
        let task = Task {
            let result = await ConnectionLog.$current.withValue(connections) {
                await kind.run(payload, job: context, kinds: kinds)
            }
            onEnd(result)
        }
        let isStopped = state.withLock { state in
            if !state.isOver { state.task = task }
            return state.stop != nil
        }
        if isStopped { task.cancel() }
    }

    private var context: JobContext {
        JobContext(
            lease: lease,
            operation: OperationContext(attempt: lease.attempt, cancellation: cancellation.token) { self.report($0) },
            checkpoint: run.checkpoint,
            isStoppedForGood: { self.isStoppedForGood },
            isLast: { self.wouldEnd(with: $0, isRetryable: $1) },
            onSave: { value throws(CheckpointError) in try await self.save(value) },
            onEnqueue: { child in self.state.withLock { $0.children.append(child) } })
    }

    private var isStoppedForGood: Bool { state.withLock { $0.stop?.isForGood ?? false } }

    /// Whether the job fails permanently if this attempt fails with this code. If the attempt was asked to stop, only
    /// the reason for stopping decides.
    private func wouldEnd(with code: String, isRetryable: Bool) -> Bool {
        if let stop = state.withLock(\.stop) { return stop.isForGood }
        return run.retry.decide(afterTry: run.tries + 1, code: code, isRetryable: isRetryable, random: 0) == .stop
    }

    // MARK: Stopping

    /// Cancels the token and the task, and sends the requests so far, in case the attempt does not end. Closures
    /// registered with the token run on this thread.
    func stop(_ request: StopRequest) {
        let task = state.withLock { state -> Task<Void, Never>? in
            if state.stop == nil { state.stop = request }
            return state.task
        }
        if let json = connections.json { sendUnlessOver { _ in .connections(lease, json) } }
        cancellation.cancel()
        task?.cancel()
    }

    // MARK: Messages

    /// Sends the end of the attempt. Nothing about the attempt is sent afterwards.
    func end(_ result: Result<JSONText, TryFailure>) {
        let (children, unsaved) = state.withLock { state in
            state.isOver = true
            state.task = nil
            return (state.children, state.takeUnsaved(lease))
        }
        for waiter in unsaved.waiters { waiter.resume(returning: .failure(.leaseLost)) }
        var lines = unsaved.line
        lines += connections.json.flatMap { WorkerMessage.connections(lease, $0).acceptableLine } ?? []
        switch result {
        case .success(let output): lines += line(forSuccess: output, children)
        case .failure(let failure): lines += line(for: failure)
        }
        writer.send(line: lines)
    }

    private func line(forSuccess output: JSONText, _ children: [ChildJob]) -> [UInt8] {
        guard output.bytes.count <= JSONText.maxBytes else {
            return line(
                for: .permanent(
                    JobFailure.Code.resultTooLarge,
                    "the result has \(output.bytes.count) bytes; the limit is \(JSONText.maxBytes). Put large output into a file and return its path."
                ))
        }
        let line = WorkerMessage.succeeded(lease, output: output, children: children).line
        guard line.count <= WorkerProtocol.maxLineBytes else {
            return self.line(
                for: .permanent(
                    JobFailure.Code.childrenRefused,
                    "the result and the jobs that it enqueues have \(line.count) bytes together; the limit is \(WorkerProtocol.maxLineBytes). Enqueue fewer jobs, or give them smaller inputs."
                ))
        }
        do throws(WorkerProtocolProblem) {
            try WorkerProtocol.check(line)
            return line
        } catch {
            return self.line(
                for: .permanent(
                    JobFailure.Code.invalidOutput,
                    "the output of the kind \(run.kind), or a job that it enqueues, is not accepted: \(error)"))
        }
    }

    private func line(for failure: TryFailure) -> [UInt8] {
        if let line = WorkerMessage.failed(lease, failure).acceptableLine { return line }
        let readable = JobFailure(
            code: failure.failure.code.withoutNUL, message: failure.failure.message.withoutNUL)
        return WorkerMessage.failed(
            lease, TryFailure(readable, isRetryable: failure.isRetryable, retryAfter: failure.retryAfter)
        ).line
    }

    private func report(_ progress: OperationProgress) {
        sendUnlessOver { state in
            state.latestProgress = progress
            if state.isProgressScheduled { return nil }
            let now = ContinuousClock.now
            if let sentAt = state.progressSentAt, now - sentAt < Self.progressInterval {
                state.isProgressScheduled = true
                let wait = Self.progressInterval - (now - sentAt)
                // Nothing awaits this task: it sends one message, unless the attempt has ended.
                Task { [weak self] in
                    // A cancelled sleep would only send the message too early.
                    try? await Task.sleep(for: wait)
                    self?.reportLatest()
                }
                return nil
            }
            state.progressSentAt = now
            return .progress(lease, progress)
        }
    }

    private func reportLatest() {
        sendUnlessOver { state in
            state.isProgressScheduled = false
            state.progressSentAt = .now
            return state.latestProgress.map { .progress(lease, $0) }
        }
    }

    private func sendUnlessOver(_ message: (inout State) -> WorkerMessage?) {
        let mustWrite = state.withLock { state in
            if state.isOver { return false }
            return message(&state)?.acceptableLine.map(writer.enqueue) ?? false
        }
        if mustWrite { writer.write() }
    }
}

extension String {
    fileprivate var withoutNUL: String { String(String.UnicodeScalarView(unicodeScalars.filter { $0 != "\0" })) }
}

extension TryFailure {
    /// A failure that another try cannot fix.
    static func permanent(_ code: String, _ message: String) -> TryFailure {
        TryFailure(JobFailure(code: code, message: message), isRetryable: false)
    }
}
