import Glibc
import Jobs
import Logging
import OperationTypes
import Programs
import Synchronization
import Testing
import WorkerProtocol

@testable import Workers

/// The daemon's side with real processes.
@Suite struct WorkerHostTests {
    private typealias Subject = HostSubject

    private let lease = Lease(job: JobID(1), attempt: 1)

    @Test(.timeLimit(.minutes(1))) func anAttemptRunsInAProcessOfItsProgram() async throws {
        let subject = Subject()
        let announcement = try await subject.host.introduce()
        #expect(announcement.kinds.contains { $0.description.name == "act" })
        subject.start(1, kind: "echo", #"{"a":[1,2]}"#)
        #expect(await subject.end(of: 1) == .succeeded(JSONText(trusted: Array(#"{"a":[1,2]}"#.utf8)), children: []))
        await subject.host.close()
        let isEmpty = subject.host.core.withLock { $0.processes.isEmpty }
        #expect(isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func manyAttemptsShareAProcess() async throws {
        let subject = Subject()
        for job in 1...500 as ClosedRange<Int64> { subject.start(job, kind: "echo", "\(job)") }
        for job in 1...500 as ClosedRange<Int64> {
            #expect(await subject.end(of: job) == .succeeded(JSONText(integer: job), children: []))
        }
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func aTrapEndsItsProcessAndTheFailureSaysHow() async throws {
        let subject = Subject()
        subject.start(1, #"{"action":"crash"}"#)
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.others == 0)
        #expect(crash.isExplained)
        #expect(crash.failure.code == "crashed")
        #expect(
            crash.failure.message.contains("the process of worker sample was killed by SIG"), "\(crash.failure.message)"
        )
        #expect(crash.failure.detail?.string.contains("a test asked for this") == true)
        // The program goes on.
        subject.start(2, kind: "echo", "2")
        #expect(await subject.end(of: 2) == .succeeded(JSONText(integer: 2), children: []))
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func neighboursOfACrashAreCounted() async throws {
        let subject = Subject()
        let begun = Latch<Void>()
        subject.start(1, #"{"action":"wait"}"#, onProgress: { _ in begun.open() })
        await begun.wait()
        subject.start(2, #"{"action":"crash"}"#)
        for job in 1...2 as ClosedRange<Int64> {
            guard case .crashed(let crash) = await subject.end(of: job) else {
                Issue.record("job \(job) did not crash")
                return
            }
            #expect(crash.others == 1)
        }
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func aKilledProcessIsNotExplained() async throws {
        let subject = Subject()
        let begun = Latch<Void>()
        subject.start(1, #"{"action":"wait"}"#, onProgress: { _ in begun.open() })
        await begun.wait()
        for process in subject.host.core.withLock(\.processes).values { kill(process.pid, SIGKILL) }
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(!crash.isExplained)
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func aStoppedAttemptAnswers() async throws {
        let subject = Subject()
        let begun = Latch<Void>()
        subject.start(1, #"{"action":"wait"}"#, onProgress: { _ in begun.open() })
        await begun.wait()
        subject.host.stop(lease, .cancelled)
        guard case .failed(let failure) = await subject.end(of: 1) else {
            Issue.record("it did not stop")
            return
        }
        #expect(failure.failure.message == "for good: true, would end: true")
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func anAttemptThatDoesNotStopEndsWithItsProcessAndHarmsNoNeighbour() async throws {
        let subject = Subject()
        let (hanging, waiting) = (Latch<Void>(), Latch<Void>())
        subject.start(1, #"{"action":"hang"}"#, onProgress: { _ in hanging.open() })
        subject.start(2, #"{"action":"wait"}"#, onProgress: { _ in waiting.open() })
        await hanging.wait()
        await waiting.wait()
        subject.host.stop(lease, .timedOut(isForGood: false))
        subject.host.abandon(lease, after: .seconds(5))
        // New work goes elsewhere, and the neighbour ends on its own.
        subject.start(3, kind: "echo", "3")
        #expect(await subject.end(of: 3) == .succeeded(JSONText(integer: 3), children: []))
        subject.host.stop(Lease(job: JobID(2), attempt: 1), .interrupted)
        guard case .failed = await subject.end(of: 2) else {
            Issue.record("the neighbour did not end on its own")
            return
        }
        #expect(await subject.end(of: 1) == .notRun)
        await subject.host.close()
    }

    @Test func theLogNamesTheAttemptThatDidNotStop() {
        let reason = Dispatcher.KillReason.abandonedAttempt(lease, after: .seconds(10))
        #expect(reason.text == "attempt 1 of job 1 did not end within 10s of the message \"stop\"")
        let drained = Dispatcher.KillReason.didNotExit(after: .seconds(10))
        #expect(drained.text == "it did not exit within 10s of the message \"drain\"")
    }

    @Test(.timeLimit(.minutes(1))) func suspectsRunOneByOne() async throws {
        let subject = Subject(limits: .init(probes: 1))
        for job in 1...5 as ClosedRange<Int64> { subject.start(job, kind: "echo", "\(job)", isSuspect: true) }
        subject.start(6, #"{"action":"crash"}"#, isSuspect: true)
        subject.start(7, kind: "echo", "7", isSuspect: true)
        for job in [1, 2, 3, 4, 5, 7] as [Int64] {
            #expect(await subject.end(of: job) == .succeeded(JSONText(integer: job), children: []))
        }
        guard case .crashed(let crash) = await subject.end(of: 6) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.others == 0)
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func aProgramThatIsMissingMakesItsJobsWait() async throws {
        let subject = Subject(["/nonexistent/worker"])
        await #expect(throws: WorkerProblem.self) { try await subject.host.introduce() }
        #expect(subject.host.problem?.contains("could not be started") == true, "\(subject.host.problem ?? "none")")
        subject.start(1, kind: "echo", "1")
        #expect(await subject.end(of: 1) == .notRun)
        #expect(subject.host.room == 0)
        #expect(subject.host.roomForSuspects == 0)
        await subject.host.close()
    }

    /// A worker in `sh` that announces the kind `act` and then does something for the first `run`.
    private func shell(_ action: String) -> [String] {
        [
            "/bin/sh", "-c",
            """
            read hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"act"}]}'
            read run
            echo '{"type":"started","attempts":[{"job":1,"attempt":1}]}'
            \(action)
            """,
        ]
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("echo garbage; sleep 600", "invalid JSON"),
            (#"echo '{"type":"succeeded","job":7,"attempt":1,"output":1}'; sleep 600"#, "which does not run in it"),
            ("exec 1>&-; sleep 600", "closed its standard output"), ("exit 3", "exited with status 3"),
            ("kill -SEGV $$", "SIGSEGV"),
            ("head -c 3000000 /dev/zero; sleep 600", "longer than 2097152 bytes"),
            ("(setsid sleep 600 &) ; exit 4", "exited with status 4"),
        ])
    func whatAWorkerDoesWrongEndsItsAttempt(action: String, reason: String) async throws {
        let subject = Subject(shell(action))
        subject.start(1, "{}")
        guard case .crashed(let crash) = await subject.end(of: 1) else {
            Issue.record("it did not crash")
            return
        }
        #expect(crash.others == 0)
        if !action.hasPrefix("echo garbage") {
            #expect(crash.failure.message.contains(reason), "\(crash.failure.message)")
        }
        await subject.host.close()
        let isEmpty = subject.host.core.withLock { $0.dispatcher.isEmpty }
        #expect(isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func inputsAreCheckedByTheProgram() async throws {
        let subject = Subject()
        _ = try await subject.host.introduce()
        func planned(_ kind: String, _ input: String) -> PlannedInput {
            PlannedInput(kind: kind, input: JSONText(trusted: Array(input.utf8)), stage: .whole)
        }
        let refusals = await subject.host.refusals(of: [
            planned("picky", #"{"refuse":"at once"}"#), planned("echo", "1"), planned("picky", "{}"),
            planned("picky", #"{"refuse":"after a look"}"#),
        ])
        #expect(
            refusals == [
                InputRefusal("refused at once"), nil, nil,
                InputRefusal("refused after a look", reason: .fileOutsideRoots),
            ])
        await subject.host.close()
    }

    /// A worker's message must not end the daemon.
    @Test(.timeLimit(.minutes(1))) func aKindThatIsAnnouncedTwiceHarmsOnlyItsWorker() async throws {
        let kinds = #"{"type":"kinds","protocol":1,"kinds":[{"name":"act"},{"name":"act"}]}"#
        let subject = Subject(["/bin/sh", "-c", "read hello; echo '\(kinds)'; read rest"])
        let announcement = try await subject.host.introduce()
        #expect(subject.host.room == 256)
        #expect(throws: KindRegistryProblem.duplicate("act")) {
            try KindRegistry(runnable: announcement.kinds.map { RunnableKind($0.description, hostedBy: subject.host) })
        }
        await subject.host.close()
    }

    @Test(.timeLimit(.minutes(1))) func anotherVersionOfTheProtocolIsRefused() async throws {
        let subject = Subject([
            "/bin/sh", "-c", #"read hello; echo '{"type":"kinds","protocol":9,"kinds":[]}'; sleep 600"#,
        ])
        await #expect(throws: WorkerProblem.unusable("speaks version 9 of the protocol; this daemon speaks version 1"))
        {
            try await subject.host.introduce()
        }
        await subject.host.close()
    }
}
