import Jobs
import Programs
import RunningWorkers
import Testing
import WorkerProtocol

@Suite struct CheckpointTests {
    private static let first = Lease.first(of: 1)

    private func saved(_ count: Int) -> WorkerMessage {
        .succeeded(
            Self.first, output: JSONText(elements: Array(repeating: JSONText(string: "saved"), count: count)),
            children: [])
    }

    private func checkpoint(_ id: Int, _ value: Int) -> WorkerMessage {
        .checkpoint(Self.first, id: id, JSONText(integer: Int64(value)))
    }

    @Test func aSaveReturnsWhenItIsAnswered() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "save", number: 2)))
            for id in 1...2 {
                let expected = checkpoint(id, id)
                try await worker.message { $0 == expected }
                #expect(try worker.messages.last == expected)
                worker.send(.checkpointed(Self.first, id: id))
            }
            #expect(try await worker.end(of: Self.first) == saved(2))
        }
    }

    @Test(arguments: [
        (CheckpointRefusal(.leaseLost, message: "x"), CheckpointError.leaseLost),
        (CheckpointRefusal(.notSaved, message: "The disk is full."), .notSaved(reason: "The disk is full.")),
        (CheckpointRefusal(.tooLarge, message: "Save less."), .notSaved(reason: "Save less.")),
    ])
    func aRefusalIsThrown(_ refusal: CheckpointRefusal, _ error: CheckpointError) async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "save")))
            let expected = checkpoint(1, 1)
            try await worker.message { $0 == expected }
            worker.send(.checkpointRefused(Self.first, id: 1, refusal))
            let output = JSONText(elements: [JSONText(string: error.description)])
            #expect(try await worker.end(of: Self.first) == .succeeded(Self.first, output: output, children: []))
        }
    }

    @Test func oneCheckpointIsOnItsWayAndTheNewestFollows() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "save at once", number: 5)))
            try await worker.progress(of: Self.first)
            for (id, value) in [(1, 1), (2, 5)] {
                let expected = checkpoint(id, value)
                try await worker.message { $0 == expected }
                worker.send(.checkpointed(Self.first, id: id))
            }
            #expect(try await worker.end(of: Self.first) == saved(5))
            #expect(try worker.messages.count { if case .checkpoint = $0 { true } else { false } } == 2)
        }
    }

    /// An older daemon would end the process for a message that it does not know.
    @Test(.timeLimit(.minutes(1))) func anOlderDaemonGetsNoCheckpoint() async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test", savesCheckpoints: false)), .run(Run(job: 1, action: "save")))
        guard case .succeeded(_, let output, _) = try await worker.end(of: Self.first) else {
            Issue.record("it did not succeed")
            return
        }
        #expect(output.string.contains("saves no checkpoints"), "\(output.string)")
        #expect(try !worker.messages.contains { if case .checkpoint = $0 { true } else { false } })
        worker.send(.drain)
        #expect(await worker.process.waitForEnd() == .exited(0))
    }

    /// The daemon saves what arrives before the end.
    @Test func aCheckpointThatWaitsIsSentBeforeTheEnd() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "save and leave")))
            let end = try await worker.end(of: Self.first)
            #expect(try worker.messages.dropFirst(2) == [checkpoint(1, 1), checkpoint(2, 2), end])
            // An answer that comes too late is ignored.
            worker.send(.checkpointed(Self.first, id: 1), .checkpointed(Self.first, id: 2))
            try await worker.run("echo", "{}", job: 2)
        }
    }

    @Test(arguments: [0, 2]) func anAnswerThatNobodyWaitsForIsInvalid(id: Int) async throws {
        let worker = try RunningWorker()
        worker.send(.hello(Hello(version: "test")), .run(Run(job: 1, action: "save")))
        let expected = checkpoint(1, 1)
        try await worker.message { $0 == expected }
        worker.send(.checkpointed(Self.first, id: id))
        // The save ends, because no answer follows, and with it the attempt.
        #expect(await worker.process.waitForEnd() == .exited(76))
        #expect(worker.process.errors.text.contains("attempt 1 of job 1 did not send the checkpoint \(id)"))
        let output = JSONText(
            elements: [JSONText(string: CheckpointError.notSaved(reason: "The daemon has ended.").description)])
        #expect(try worker.messages.last == .succeeded(Self.first, output: output, children: []))
    }
}
