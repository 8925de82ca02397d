import Glibc
import Jobs
import Logging
import OperationTypes
import Programs
import Synchronization
import Testing

@testable import Workers

/// Processes that stop for real.
@Suite struct HangingProcessTests {
    /// Runs `body` with a host that notices a hang after a second, and with attempts that have begun in one process.
    private func withAttempts(
        _ count: Int = 2, _ body: (WorkerHost, _ pid: Int32, _ ends: [Latch<HostedEnd>]) async throws -> Void
    ) async throws {
        let program = WorkerProgram(
            name: "sample", command: [binary("SampleWorker")],
            environment: ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"])
        let host = WorkerHost(
            program, limits: .init(exit: .seconds(1), pingInterval: .milliseconds(100), hang: .seconds(1)),
            version: "test", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let begun = (0..<count).map { _ in Latch<Void>() }
        let ends = (0..<count).map { _ in Latch<HostedEnd>() }
        for job in 0..<count {
            host.run(
                HostedAttempt(
                    lease: Lease(job: JobID(Int64(job) + 1), attempt: 1), kind: "act",
                    input: JSONText(trusted: Array(#"{"action":"wait"}"#.utf8)),
                    onProgress: { _ in begun[job].open() }, onEnd: { ends[job].open(with: $0) }))
        }
        host.flush()
        for latch in begun { await latch.wait() }
        let pid = try #require(host.snapshot.processes.first?.pid)
        try await body(host, pid, ends)
        await host.close()
    }

    @Test(.timeLimit(.minutes(1)), arguments: [1, 2])
    func aStoppedProcessIsKilledAndItsAttemptsAreSuspects(count: Int) async throws {
        try await withAttempts(count) { host, pid, ends in
            kill(pid, SIGSTOP)
            for end in ends {
                guard case .crashed(let crash) = await end.uncancellableWait() else {
                    Issue.record("it did not crash")
                    return
                }
                #expect(crash.others == count - 1)
            }
            #expect(host.snapshot.crashes == 1)
            #expect(kill(pid, 0) != 0)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aProcessThatIsResumedInTimeGoesOn() async throws {
        try await withAttempts { host, pid, ends in
            kill(pid, SIGSTOP)
            // A ping waits in the pipe until the process reads again.
            while host.core.withLock({ $0.dispatcher.members.values.allSatisfy { $0.ping == nil } }) {
                await Task.yield()
            }
            kill(pid, SIGCONT)
            for job in 1...2 as ClosedRange<Int64> { host.stop(Lease(job: JobID(job), attempt: 1), .interrupted) }
            for end in ends {
                guard case .failed(let failure) = await end.uncancellableWait() else {
                    Issue.record("it did not end by itself")
                    return
                }
                #expect(failure.failure.code == "stopped")
            }
            #expect(host.snapshot.crashes == 0)
        }
    }

    @Test(.timeLimit(.minutes(1))) func aRetiredProgramEndsItsAttemptsFirst() async throws {
        try await withAttempts { host, pid, ends in
            host.retire()
            #expect(host.room == 0)
            host.stop(Lease(job: JobID(1), attempt: 1), .interrupted)
            _ = await ends[0].uncancellableWait()
            #expect(!host.hasClosed && kill(pid, 0) == 0)
            host.stop(Lease(job: JobID(2), attempt: 1), .interrupted)
            guard case .failed = await ends[1].uncancellableWait() else {
                Issue.record("it did not end by itself")
                return
            }
            await host.close()
            #expect(host.hasClosed && kill(pid, 0) != 0)
        }
    }
}
