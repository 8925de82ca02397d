import Jobs
import WorkerProtocol

extension Run {
    init(_ attempt: HostedAttempt) {
        self.init(
            lease: attempt.lease, kind: attempt.kind, input: attempt.input, checkpoint: attempt.checkpoint,
            tries: attempt.tries, retry: attempt.retry, timeout: attempt.timeout)
    }
}

extension StopRequest {
    init(_ stop: HostedStop) {
        switch stop {
        case .cancelled: self.init(.cancelled, isForGood: true)
        case .timedOut(let isForGood): self.init(.timedOut, isForGood: isForGood)
        case .interrupted: self.init(.interrupted, isForGood: false)
        }
    }
}
