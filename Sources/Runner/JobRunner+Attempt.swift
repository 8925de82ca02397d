import Jobs
import OperationTypes
import Synchronization

extension JobRunner {
    func start(_ attempt: RunningAttempt) {
        log.started(attempt)
        let definition = attempt.definition
        if let reason = definition.unreadable {
            return end(
                attempt,
                .failed(
                    JobFailure.Code.badDefinition,
                    "the definition \(definition.definition.name) of this job is unreadable (\(reason)); apply the definition again, then retry the job"
                ))
        }
        switch definition.kind?.place {
        case nil:
            end(
                attempt,
                .failed(
                    JobFailure.Code.unknownKind,
                    "this daemon has no kind \(definition.definition.kind); use a daemon that has it, then retry the job"
                ))
        case .hosted(let host): start(attempt, on: host)
        case .here:
            guard let kind = definition.kind else { return }
            // Nothing awaits this task: it ends with an event that the claim loop waits for. After the grace period the
            // loop stops waiting, which would be impossible for a child task of run().
            let task = Task(priority: .medium) { end(attempt, await result(of: attempt, running: kind)) }
            attempt.adopt(task)
        }
    }

    func end(_ attempt: RunningAttempt, _ result: AttemptResult) {
        attempt.endProgress()
        let record: @Sendable () -> Void = { [self] in
            handle(.attemptEnded(attempt, result, random: result.isValue ? 0 : random()))
        }
        if result.isValue {
            // The transaction that records the success deletes the checkpoint.
            dropWaitingSave(of: attempt)
            return record()
        }
        // Another attempt may need the checkpoint, so the saves end before the end of the attempt is recorded.
        if !attempt.saves.withLock({ $0.close() }) { handle(.returned(attempt)) }
        if attempt.saves.withLock({ $0.finish(then: record) }) { record() }
    }

    /// Runs one attempt in this process: builds the input, runs the operation, checks the size of its output, and plans
    /// its children.
    private func result(of attempt: RunningAttempt, running kind: RunnableKind) async -> AttemptResult {
        var payload = JobPayload(defaults: attempt.definition.defaults, explicit: attempt.job.input)
        if attempt.job.hasDependencies, let wanted = kind.description.wantedOutputs(among: kinds) {
            switch await outputs(wanted, for: attempt) {
            case .success(let outputs): payload.dependencies = outputs
            case .failure(let result): return result
            }
        }
        let children = RequestedChildren()
        let operation = OperationContext(attempt: attempt.lease.attempt, cancellation: attempt.token) {
            [weak self] progress in self?.publish(progress, of: attempt)
        }
        let context = JobContext(
            lease: attempt.lease, operation: operation, checkpoint: attempt.job.checkpoint,
            isStoppedForGood: { attempt.isStoppedForGood },
            isLast: { code, isRetryable in attempt.wouldEnd(with: code, isRetryable: isRetryable) },
            onSave: { [self] value throws(CheckpointError) in try await save(value, of: attempt) },
            onEnqueue: { children.add($0) })
        let outcome = await ConnectionLog.$current.withValue(attempt.connections) { [payload] in
            await kind.run(payload, job: context, kinds: kinds)
        }
        switch outcome {
        case .failure(let failed): return .threw(failed)
        case .success(let output): return await planned(output, children.all)
        }
    }

    /// Reads the outputs of an attempt's dependencies, or returns how the attempt ends without them.
    ///
    /// While the store cannot answer, the attempt keeps its slot and asks again, until its task is cancelled. If it ended,
    /// its job would be claimed again at once.
    func outputs(
        _ wanted: WantedOutputs, for attempt: RunningAttempt
    ) async -> Result<[DependencyOutput], AttemptResult> {
        var backoff = Backoff()
        while true {
            do throws(StoreError) {
                let outputs = try await store.outputs(
                    ofDependenciesOf: attempt.lease.job, wanted, maxBytes: WantedOutputs.maxBytes)
                if case .found(let found) = outputs { return .success(found) }
                return .failure(
                    .failed(
                        JobFailure.Code.inputTooLarge,
                        "the results of its dependencies have more than \(WantedOutputs.maxBytes) bytes together; let the dependencies write files and return their paths"
                    ))
            } catch {
                guard error.isPassing else {
                    handle(.storeFailed(error))
                    return .failure(.notRun)
                }
            }
            do { try await Task.sleep(for: backoff.next()) } catch { return .failure(.notRun) }
        }
    }

    /// Plans the children of an attempt that succeeded.
    func planned(_ output: JSONText, _ children: [ChildJob]) async -> AttemptResult {
        do throws(JobFailure) {
            var graphs: [NewGraph] = []
            for child in children { graphs.append(try await planChild(child)) }
            return returned(output, children: graphs)
        } catch {
            return .threw(TryFailure(error, isRetryable: false))
        }
    }

    func returned(_ output: JSONText, children: [NewGraph]) -> AttemptResult {
        if output.bytes.count <= JSONText.maxBytes { return .returned(output, children: children) }
        return .failed(
            JobFailure.Code.resultTooLarge,
            "the result has \(output.bytes.count) bytes; the limit is \(JSONText.maxBytes). Put large output into a file and return its path."
        )
    }

    func publish(_ progress: OperationProgress, of attempt: RunningAttempt) {
        guard attempt.report(progress, now: uptimeClock.now) else { return }
        events.publish(progress, of: attempt.lease.job, in: attempt.job.graph)
    }
}

extension AttemptResult: Error {
    /// A failure that another try cannot fix.
    fileprivate static func failed(_ code: String, _ message: String) -> AttemptResult {
        .threw(TryFailure(JobFailure(code: code, message: message), isRetryable: false))
    }
}

/// The jobs that an operation asks to enqueue together with its success, in order.
private final class RequestedChildren: Sendable {
    private let children = Mutex<[ChildJob]>([])

    func add(_ child: ChildJob) { children.withLock { $0.append(child) } }
    var all: [ChildJob] { children.withLock(\.self) }
}
