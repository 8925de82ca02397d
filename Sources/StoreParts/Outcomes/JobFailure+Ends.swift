import Jobs

extension JobFailure {
    package static let cancelledWhileRunning = JobFailure(
        code: Code.cancelled, message: "It was cancelled while it was running. Enqueue it again if you still need it.")
    package static let cancelledBeforeStart = JobFailure(
        code: Code.cancelled, message: "It was cancelled before it started. Enqueue it again if you still need it.")
    package static let interrupted = JobFailure(
        code: Code.interrupted,
        message: "The attempt was interrupted, because the daemon or its worker stopped. The job runs again.")
}
