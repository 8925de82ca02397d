import Jobs
import OperationTypes
import Synchronization

extension JobRunner {
    /// Runs one attempt: builds the input, runs the operation, checks the size of its output, and plans its children.
    func result(of attempt: RunningAttempt) async -> AttemptResult {
        let definition = attempt.definition
        if let reason = definition.unreadable {
            let message =
                "the definition \(definition.definition.name) of this job is unreadable (\(reason)); apply the definition again, then retry the job"
            return .threw(
                FailedTry(JobFailure(code: JobFailure.Code.badDefinition, message: message), isRetryable: false))
        }
        guard let kind = definition.kind else {
            let message =
                "this daemon has no kind \(definition.definition.kind); use a daemon that has it, then retry the job"
            return .threw(
                FailedTry(JobFailure(code: JobFailure.Code.unknownKind, message: message), isRetryable: false))
        }
        var payload = JobPayload(defaults: definition.defaults, explicit: attempt.job.input)
        if attempt.job.hasDependencies, let wanted = kind.wantedOutputs(among: kinds) {
            do throws(StoreError) {
                let outputs = try await store.outputs(
                    ofDependenciesOf: attempt.lease.job, wanted, maxBytes: WantedOutputs.maxBytes)
                guard case .found(let found) = outputs else { return .threw(.inputTooLarge) }
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
                let message =
                    "the result has \(output.bytes.count) bytes; the limit is \(JSONText.maxBytes). Put large output into a file and return its path."
                return .threw(
                    FailedTry(
                        JobFailure(code: JobFailure.Code.resultTooLarge, message: message), isRetryable: false))
            }
            do throws(JobFailure) {
                var graphs: [NewGraph] = []
                for child in children.all { graphs.append(try await planChild(child)) }
                return .returned(output, children: graphs)
            } catch {
                return .threw(FailedTry(error, isRetryable: false))
            }
        }
    }
}

extension FailedTry {
    fileprivate static let inputTooLarge = FailedTry(
        JobFailure(
            code: JobFailure.Code.inputTooLarge,
            message:
                "the results of its dependencies have more than \(WantedOutputs.maxBytes) bytes together; let the dependencies write files and return their paths"
        ),
        isRetryable: false)
}

/// The jobs that an operation asks to enqueue together with its success, in order.
private final class RequestedChildren: Sendable {
    private let children = Mutex<[ChildJob]>([])

    func add(_ child: ChildJob) { children.withLock { $0.append(child) } }
    var all: [ChildJob] { children.withLock(\.self) }
}
