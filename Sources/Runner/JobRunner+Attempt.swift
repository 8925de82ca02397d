import Jobs
import OperationTypes
import Synchronization

extension JobRunner {
    /// Runs one attempt: builds the input, runs the operation, checks the size of its output, and plans its children.
    func result(of attempt: RunningAttempt) async -> AttemptResult {
        let definition = attempt.definition
        if let reason = definition.unreadable {
            return .failed(
                JobFailure.Code.badDefinition,
                "the definition \(definition.definition.name) of this job is unreadable (\(reason)); apply the definition again, then retry the job"
            )
        }
        guard let kind = definition.kind else {
            return .failed(
                JobFailure.Code.unknownKind,
                "this daemon has no kind \(definition.definition.kind); use a daemon that has it, then retry the job")
        }
        var payload = JobPayload(defaults: definition.defaults, explicit: attempt.job.input)
        if attempt.job.hasDependencies, let wanted = kind.wantedOutputs(among: kinds) {
            do throws(StoreError) {
                let outputs = try await store.outputs(
                    ofDependenciesOf: attempt.lease.job, wanted, maxBytes: WantedOutputs.maxBytes)
                guard case .found(let found) = outputs else {
                    return .failed(
                        JobFailure.Code.inputTooLarge,
                        "the results of its dependencies have more than \(WantedOutputs.maxBytes) bytes together; let the dependencies write files and return their paths"
                    )
                }
                payload.dependencies = found
            } catch {
                if !error.isTransient { handle(.storeFailed(error)) }
                return .notRun
            }
        }
        let children = RequestedChildren()
        let operation = OperationContext(attempt: attempt.lease.attempt, cancellation: attempt.token) {
            [weak self] progress in
            guard let self, attempt.report(progress, now: uptimeClock.now) else { return }
            events.publish(progress, of: attempt.lease.job, in: attempt.job.graph)
        }
        let context = JobContext(
            lease: attempt.lease, operation: operation, isStoppedForGood: { attempt.isStoppedForGood },
            isLast: { code, isRetryable in attempt.wouldEnd(with: code, isRetryable: isRetryable) },
            onEnqueue: { children.add($0) })
        let outcome = await ConnectionLog.$current.withValue(attempt.connections) { [payload] in
            await kind.run(payload, job: context, kinds: kinds)
        }
        switch outcome {
        case .failure(let failed): return .threw(failed)
        case .success(let output):
            guard output.bytes.count <= JSONText.maxBytes else {
                return .failed(
                    JobFailure.Code.resultTooLarge,
                    "the result has \(output.bytes.count) bytes; the limit is \(JSONText.maxBytes). Put large output into a file and return its path."
                )
            }
            do throws(JobFailure) {
                var graphs: [NewGraph] = []
                for child in children.all { graphs.append(try await planChild(child)) }
                return .returned(output, children: graphs)
            } catch {
                return .threw(TryFailure(error, isRetryable: false))
            }
        }
    }
}

extension AttemptResult {
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
