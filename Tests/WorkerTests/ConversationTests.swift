import Jobs
import OperationTypes
import Programs
import RunningWorkers
import Testing
import WorkerProtocol

@Suite struct ConversationTests {
    // MARK: The beginning

    @Test func theKindsAreAnnouncedInTheOrderOfTheProgram() async throws {
        try await RunningWorker.with { worker in
            guard case .kinds(let announcement) = try #require(try worker.messages.first) else {
                Issue.record("the first message is another one")
                return
            }
            #expect(announcement.protocolVersion == 1)
            #expect(announcement.version == "1.0")
            #expect(announcement.kinds.map(\.description.name) == ["act", "echo", "join", "picky", "keeper"])
            #expect(announcement.kinds.filter(\.checksInputs).map(\.description.name) == ["picky"])
            #expect(announcement.kinds.filter(\.cleansUp).map(\.description.name) == ["keeper"])
            let act = try #require(announcement.kinds.first).description
            #expect(act.fields.map(\.name) == ["action", "number", "text"])
            #expect(act.fields[1].range == 0...9_000_000)
        }
    }

    @Test func theKindsCanDependOnSettings() async throws {
        let worker = try RunningWorker(["settings"])
        let settings = JSONText(trusted: Array(#"{"sample.mode":"good"}"#.utf8))
        worker.send(.hello(Hello(version: "test", attempts: 3, settings: settings)), .drain)
        #expect(await worker.process.waitForEnd() == .exited(0))
        guard case .kinds(let announcement) = try #require(try worker.messages.first) else {
            Issue.record("the first message is another one")
            return
        }
        #expect(announcement.warnings == ["sample.mode is good for 3 attempts"])
        #expect(announcement.kinds.map(\.description.name) == ["echo"])
    }

    @Test func invalidSettingsAreRefused() async throws {
        let worker = try RunningWorker(["settings"])
        worker.send(.hello(Hello(version: "test")))
        #expect(await worker.process.waitForEnd() == .exited(78))
        let refusal = SettingRefusal(key: "sample.mode", message: #"is ""; write good"#)
        #expect(try worker.messages == [.refused([refusal])])
    }

    @Test func twoKindsOfOneNameEndTheProgram() async throws {
        let worker = try RunningWorker(["duplicate"])
        worker.send(.hello(Hello(version: "test")))
        #expect(await worker.process.waitForEnd() == .exited(70))
        #expect(worker.process.errors.text == #"two kinds are called "echo"; rename one"#)
    }

    @Test func anotherVersionOfTheProtocolEndsTheProgram() async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(protocolVersion: 2, version: "9.0")))
        #expect(await worker.process.waitForEnd() == .exited(76))
        #expect(worker.process.output.all.isEmpty)
        #expect(
            worker.process.errors.text
                == "the daemon speaks version 2 of the protocol, and this worker version 1; install the same release of the daemon and of the worker"
        )
    }

    @Test(arguments: ["", "hello\n", #"{"type":"ping","id":1}"# + "\n"])
    func aProgramThatNoDaemonStartedExplainsItself(_ input: String) async throws {
        let (status, output, errors) = try await ChildProcess.run(binary("SampleWorker"), input: input)
        #expect(status == .exited(64))
        #expect(output.isEmpty)
        let program = binary("SampleWorker")
        #expect(
            errors
                == "\(program) runs jobs for halyardd and cannot be used alone; name it under `workers` in halyard.yaml, or check it with: halyard workers test -- \(program)"
        )
    }

    // MARK: Invalid messages

    @Test(arguments: [
        (#"{"type":"dance"}"#, "the type of the message is unknown"),
        ("garbage", "invalid JSON at byte 0: expected an object"),
        (#"{"type":"hello","protocol":1}"#, "hello was sent before"),
    ])
    func anInvalidLineEndsTheProgram(_ line: String, _ reason: String) async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")))
        worker.send(line: line)
        #expect(await worker.process.waitForEnd() == .exited(76))
        #expect(
            worker.process.errors.text
                == "line 2 from the daemon is invalid: \(reason); install the same release of the daemon and of the worker"
        )
    }

    @Test func anAttemptThatAlreadyRunsIsNotStartedTwice() async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")), .run(Run(job: 1, action: "wait")))
        try await worker.progress(of: .first(of: 1))
        worker.send(.run(Run(job: 1, action: "wait")))
        #expect(await worker.process.waitForEnd() == .exited(76))
        #expect(worker.process.errors.text.contains("attempt 1 of job 1 is already running"))
        // The running attempt was stopped, and its end was still sent.
        #expect(try worker.messages.contains { if case .failed(.first(of: 1), _) = $0 { true } else { false } })
    }

    @Test func attemptsBeforeAnInvalidLineOfTheSameWriteDoNotBegin() async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")))
        try await worker.message { if case .kinds = $0 { true } else { false } }
        var bytes: [UInt8] = []
        DaemonMessage.run(Run(job: 1, action: "wait")).append(to: &bytes)
        worker.send(line: String(decoding: bytes, as: UTF8.self) + "garbage")
        #expect(await worker.process.waitForEnd() == .exited(76))
        #expect(try worker.messages.count == 1)
    }

    // MARK: The end

    @Test func aDrainingWorkerFinishesItsAttempts() async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")), .run(Run(job: 1, action: "wait")))
        try await worker.progress(of: .first(of: 1))
        worker.send(.drain)
        worker.send(.ping(id: 1))
        try await worker.message { $0 == .pong(id: 1) }
        worker.send(.stop(.first(of: 1), StopRequest(.cancelled, isForGood: true)))
        #expect(await worker.process.waitForEnd() == .exited(0))
        guard case .failed(.first(of: 1), _) = try #require(try worker.messages.last) else {
            Issue.record("the last message is another one")
            return
        }
    }

    /// The attempts must not run concurrently with those of the next daemon.
    @Test(arguments: ["wait", "hang"]) func theEndOfTheInputEndsTheProcessAtOnce(action: String) async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")), .run(Run(job: 1, action: action)))
        try await worker.progress(of: .first(of: 1))
        try worker.closeInput()
        #expect(await worker.process.waitForEnd() == .exited(1))
        #expect(try worker.messages.filter { if case .failed = $0 { true } else { false } }.isEmpty)
    }

    @Test func aCrashAffectsOnlyTheProcess() async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")), .run(Run(job: 1, action: "crash")))
        guard case .killed = try #require(await worker.process.waitForEnd()) else {
            Issue.record("the worker exited")
            return
        }
        #expect(try worker.messages.last == .started([.first(of: 1)]))
    }
}
