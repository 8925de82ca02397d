import Jobs
import Logging
import OperationTypes
import Programs
import Synchronization
import Testing

@testable import Workers

/// A host of the sample worker, and the ends of the attempts that ran in it.
final class HostSubject: Sendable {
    let host: WorkerHost
    private let ends = Mutex<[Lease: HostedEnd]>([:])
    private let waiters = Mutex<[Lease: Latch<HostedEnd>]>([:])

    init(_ command: [String] = [binary("SampleWorker")], limits: Dispatcher.Limits = .init()) {
        let program = WorkerProgram(
            name: "sample", command: command, processes: limits.processes, attempts: limits.attempts,
            environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"])
        host = WorkerHost(
            program, limits: limits, version: "0.1.0",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Starts an attempt of a job of the kind `act`.
    func start(
        _ job: Int64, kind: String = "act", _ input: String, checkpoint: JSONText? = nil, isSuspect: Bool = false,
        onBegin: @escaping @Sendable () -> Void = {},
        onProgress: @escaping @Sendable (OperationProgress) -> Void = { _ in },
        onCheckpoint:
            @escaping @Sendable (
                JSONText, @escaping @Sendable (Result<Void, CheckpointError>) -> Void
            ) -> Void = { $1(.failure(.leaseLost)) }
    ) {
        let lease = Lease(job: JobID(job), attempt: 1)
        let latch = Latch<HostedEnd>()
        waiters.withLock { $0[lease] = latch }
        host.run(
            HostedAttempt(
                lease: lease, kind: kind, input: JSONText(trusted: Array(input.utf8)), checkpoint: checkpoint,
                isSuspect: isSuspect, onBegin: onBegin, onProgress: onProgress, onCheckpoint: onCheckpoint,
                onEnd: { end in
                    // Every attempt ends once.
                    #expect(!latch.isOpen)
                    latch.open(with: end)
                }))
        host.flush()
    }

    func end(of job: Int64) async -> HostedEnd? {
        await waiters.withLock { $0[Lease(job: JobID(job), attempt: 1)] }?.uncancellableWait()
    }
}
