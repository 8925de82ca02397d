import Jobs
import OperationTypes
import Synchronization
import WorkerProtocol

/// The work of a worker between the announcement of its kinds and its exit.
///
/// The reading thread calls the methods and is never blocked by a kind. Each piece of work runs in a task or on its own
/// thread, and ends with a message. Nothing awaits these tasks; ``drain()`` and ``endInput(with:)`` count them.
final class WorkerSession: Sendable {
    private struct State {
        var attempts: [Lease: WorkerAttempt] = [:]
        /// The number of running checks, clean-ups and notes of recorded successes.
        var otherTasks = 0
        var lastCleanUp: Task<Void, Never>?
        var questions: [Int: Latch<Result<JobState?, StoreError>>] = [:]
        var lastQuestion = 0
        /// The exit status as soon as nothing runs; nil while more may come.
        var endStatus: Int32?
    }

    private let kinds: KindRegistry
    /// The kinds that want to be asked, by name.
    private let checking: [String: RunnableKind]
    private let cleaning: [String: RunnableKind]
    private let savesCheckpoints: Bool
    private let writer: MessageWriter
    private let ended: Latch<Int32>
    private let checks = BlockingChecks()
    private let state = Mutex(State())
    let announced: [AnnouncedKind]

    init(
        _ registry: KindRegistry, of kinds: [any Kind], savesCheckpoints: Bool, writer: MessageWriter,
        ended: Latch<Int32>
    ) {
        self.kinds = registry
        self.savesCheckpoints = savesCheckpoints
        self.writer = writer
        self.ended = ended
        let announced = kinds.map { kind in
            AnnouncedKind(
                type(of: kind).description, checksInputs: type(of: kind).checksInputs,
                cleansUp: type(of: kind).cleansUp)
        }
        self.announced = announced
        func named(_ kinds: [AnnouncedKind]) -> [String: RunnableKind] {
            let pairs = kinds.compactMap { kind in registry[kind.description.name].map { (kind.description.name, $0) } }
            return Dictionary(pairs) { first, _ in first }
        }
        checking = named(announced.filter(\.checksInputs))
        cleaning = named(announced.filter(\.cleansUp))
    }

    // MARK: Attempts

    /// Registers an attempt, which does not begin yet.
    func accept(_ run: Run, _ outputs: [DependencyOutput]) throws(WorkerProtocolProblem) -> WorkerAttempt {
        let attempt = WorkerAttempt(
            run, kind: kinds[run.kind], dependencies: outputs, savesCheckpoints: savesCheckpoints, writer: writer)
        let isNew = state.withLock { state in
            if state.attempts[run.lease] != nil { return false }
            state.attempts[run.lease] = attempt
            return true
        }
        guard isNew else {
            throw WorkerProtocolProblem("attempt \(run.lease.attempt) of job \(run.lease.job) is already running")
        }
        return attempt
    }

    /// Begins an attempt that was announced as started.
    func start(_ attempt: WorkerAttempt) {
        guard let kind = attempt.kind else {
            let message =
                "this worker has no kind \(attempt.run.kind); use a worker that has it, then retry the job"
            return end(attempt, .failure(.permanent(JobFailure.Code.unknownKind, message)))
        }
        attempt.start(kind, among: kinds) { [self] result in end(attempt, result) }
    }

    /// Forgets attempts that were registered and will not begin.
    func withdraw(_ attempts: [WorkerAttempt]) {
        state.withLock { state in
            for attempt in attempts { state.attempts[attempt.lease] = nil }
        }
    }

    /// Asks an attempt to stop; does nothing if it has ended.
    func stop(_ lease: Lease, _ request: StopRequest) {
        guard let attempt = state.withLock({ $0.attempts[lease] }) else { return }
        // Closures of the kind run here, which must not block the reading thread.
        Task { attempt.stop(request) }
    }

    /// Passes the daemon's answer to a checkpoint on; does nothing if the attempt has ended.
    ///
    /// - Parameter refusal: The reason why the checkpoint was not saved; nil if it is durable.
    func answerSave(_ lease: Lease, _ id: Int, _ refusal: CheckpointRefusal?) throws(WorkerProtocolProblem) {
        try state.withLock({ $0.attempts[lease] })?.saveAnswered(id, refusal)
    }

    private func end(_ attempt: WorkerAttempt, _ result: Result<JSONText, TryFailure>) {
        attempt.end(result)
        endIfIdle { $0.attempts[attempt.lease] = nil }
    }

    /// Informs a kind that the success of an attempt is durable, whichever process ran it.
    func noteRecorded(_ lease: Lease, _ kind: String) {
        guard let kind = cleaning[kind] else { return }
        startTask { kind.didSucceed(lease) }
    }

    // MARK: Checks

    /// Answers whether inputs can be accepted.
    func check(_ id: Int, _ inputs: [PlannedInput]) {
        startTask { [self] in
            var refusals: [InputRefusal?] = []
            var blocking: [BlockingChecks.Check] = []
            for (index, input) in inputs.enumerated() {
                let kind = checking[input.kind]?.kind
                refusals.append(kind?.refusal(of: input))
                if refusals[index] == nil, let check = kind?.blockingCheck(of: input) {
                    blocking.append(.init(index: index, refusal: check))
                }
            }
            for (index, refusal) in await checks.refusals(of: blocking) { refusals[index] = refusal }
            if let line = WorkerMessage.checked(id: id, refusals: refusals).acceptableLine {
                return writer.send(line: line)
            }
            let short = refusals.map { $0.map { InputRefusal("the kind refuses this input", reason: $0.reason) } }
            writer.send(.checked(id: id, refusals: short))
        }
    }

    // MARK: Cleaning up

    /// Runs the clean-up of every kind, after any clean-ups that are still running.
    func cleanUp(_ id: Int) {
        state.withLock { state in
            state.otherTasks += 1
            state.lastCleanUp = Task { [self, last = state.lastCleanUp] in
                await last?.value
                var isAnythingLeft = false
                for kind in cleaning.values { isAnythingLeft = await cleanUp(kind) || isAnythingLeft }
                writer.send(.cleanedUp(id: id, isAnythingLeft: isAnythingLeft))
                endIfIdle { $0.otherTasks -= 1 }
            }
        }
    }

    private func cleanUp(_ kind: RunnableKind) async -> Bool {
        do throws(StoreError) {
            return try await kind.kind?.cleanUp { job throws(StoreError) in
                try await self.jobState(of: job, kind.description.name)
            } ?? false
        } catch {
            // The daemon knows the error. The next clean-up tries again.
            return true
        }
    }

    /// - Throws: ``StoreError/closed`` if the answer does not arrive because the worker ends.
    private func jobState(of job: JobID, _ kind: String) async throws(StoreError) -> JobState? {
        let answer = Latch<Result<JobState?, StoreError>>()
        let id = state.withLock { state -> Int? in
            if state.endStatus != nil { return nil }
            state.lastQuestion += 1
            state.questions[state.lastQuestion] = answer
            return state.lastQuestion
        }
        guard let id else { throw .closed }
        writer.send(.jobState(id: id, kind: kind, job: job))
        return try await answer.uncancellableWait().get()
    }

    /// Passes the daemon's answer to the clean-up that asked.
    func answer(_ id: Int, _ jobState: JobState?) {
        state.withLock { $0.questions.removeValue(forKey: id) }?.open(with: .success(jobState))
    }

    // MARK: Signs of life, and the end

    /// Answers from a task, as proof that tasks can run.
    func ping(_ id: Int) {
        // Nothing awaits this task: its end is the message.
        Task(priority: .medium) { writer.send(.pong(id: id)) }
    }

    /// Ends the process when nothing runs any more. A running clean-up stops early.
    func drain() { end(with: ExitStatus.success) }

    /// Whether an attempt runs.
    var isRunning: Bool { state.withLock { !$0.attempts.isEmpty } }

    /// Stops everything, because there is nobody left to run it for, and ends the process when nothing runs any more.
    func endInput(with status: Int32) {
        for attempt in state.withLock({ Array($0.attempts.values) }) {
            attempt.loseDaemon()
            // Nothing awaits this task. Closures of the kind run here and may block.
            Task { attempt.stop(StopRequest(.interrupted, isForGood: false)) }
        }
        end(with: status)
    }

    private func end(with status: Int32) {
        endIfIdle { state in
            state.endStatus = state.endStatus ?? status
            state.lastCleanUp?.cancel()
            for question in state.questions.values { question.open(with: .failure(.closed)) }
            state.questions = [:]
        }
    }

    private func startTask(_ body: @escaping @Sendable () async -> Void) {
        state.withLock { $0.otherTasks += 1 }
        // Nothing awaits this task: it is counted, and its end is a message.
        Task {
            await body()
            endIfIdle { $0.otherTasks -= 1 }
        }
    }

    private func endIfIdle(after change: (inout State) -> Void) {
        let status = state.withLock { state in
            change(&state)
            return state.attempts.isEmpty && state.otherTasks == 0 ? state.endStatus : nil
        }
        if let status { ended.open(with: status) }
    }
}
