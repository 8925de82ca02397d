import Jobs
import OperationTypes
import Programs
import RunningWorkers
import Testing
import WorkerProtocol

@Suite struct InquiryTests {
    @Test func inputsAreCheckedAtOnceAndThenWithALook() async throws {
        try await RunningWorker.with { worker in
            worker.send(
                .check(
                    id: 3,
                    [
                        input("after a look"), input(nil), input("at once"),
                        PlannedInput(kind: "elsewhere", input: .emptyObject, stage: .whole),
                        PlannedInput(kind: "echo", input: .emptyObject, stage: .definition),
                    ]))
            let answer = try await worker.message { if case .checked = $0 { true } else { false } }
            let refusals = [
                InputRefusal("refused after a look", reason: .fileOutsideRoots), nil, InputRefusal("refused at once"),
                nil,
                nil,
            ]
            #expect(answer == .checked(id: 3, refusals: refusals))
        }
    }

    @Test func aCheckThatTakesTooLongAcceptsTheInput() async throws {
        try await RunningWorker.with { worker in
            worker.send(.check(id: 3, [input("after a look"), input("much too late"), input("after a look")]))
            let answer = try await worker.message { if case .checked = $0 { true } else { false } }
            let refusal = InputRefusal("refused after a look", reason: .fileOutsideRoots)
            #expect(answer == .checked(id: 3, refusals: [refusal, nil, nil]))
            // The blocked thread does not delay other checks.
            worker.send(.check(id: 4, [input("after a look")]))
            try await worker.message { $0 == .checked(id: 4, refusals: [refusal]) }
        }
    }

    @Test func aLongListOfRefusalsFitsIntoOneLine() async throws {
        try await RunningWorker.with { worker in
            worker.send(.check(id: 3, Array(repeating: input("verbosely"), count: 1000)))
            let answer = try await worker.message { if case .checked = $0 { true } else { false } }
            guard case .checked(3, let refusals) = answer else { return }
            #expect(refusals.count == 1000)
            #expect(!refusals.contains(nil))
        }
    }

    @Test func aRecordedSuccessReachesItsKind() async throws {
        try await RunningWorker.with { worker in
            try await worker.run("keeper", "{}", job: 7)
            try await worker.run("echo", "{}", job: 8)
            worker.send(.recorded(.first(of: 8), kind: "echo"), .recorded(.first(of: 7), kind: "keeper"))
            #expect(await worker.process.errors.first(containing: "job 7 succeeded") != nil)
            worker.send(.drain)
            #expect(await worker.process.waitForEnd() == .exited(0))
            #expect(worker.process.errors.text == "job 7 succeeded")
        }
    }

    @Test func aCleanUpAsksForTheStatesOfJobs() async throws {
        try await RunningWorker.with { worker in
            worker.send(.cleanUp(id: 5))
            try await worker.message { $0 == .jobState(id: 1, kind: "keeper", job: JobID(1)) }
            worker.send(.jobState(id: 1, .running))
            try await worker.message { $0 == .jobState(id: 2, kind: "keeper", job: JobID(2)) }
            worker.send(.jobState(id: 2, nil))
            try await worker.message { $0 == .cleanedUp(id: 5, isAnythingLeft: true) }
            #expect(await worker.process.errors.first { $0 == #"states: ["running", "none"]"# } != nil)
        }
    }

    @Test func aSecondCleanUpWaitsForTheFirst() async throws {
        try await RunningWorker.with { worker in
            worker.send(.cleanUp(id: 5), .cleanUp(id: 6))
            for id in 1...4 {
                try await worker.message { if case .jobState(id, _, _) = $0 { true } else { false } }
                worker.send(.jobState(id: id, .succeeded))
            }
            try await worker.message { $0 == .cleanedUp(id: 6, isAnythingLeft: false) }
            let answers = try worker.messages.filter { if case .cleanedUp = $0 { true } else { false } }
            #expect(answers.first == .cleanedUp(id: 5, isAnythingLeft: false))
        }
    }

    @Test func aDrainEndsACleanUpThatWaitsForAnAnswer() async throws {
        try await RunningWorker.with { worker in
            worker.send(.cleanUp(id: 5))
            try await worker.message { if case .jobState = $0 { true } else { false } }
            worker.send(.drain)
            #expect(await worker.process.waitForEnd() == .exited(0))
            #expect(try worker.messages.last == .cleanedUp(id: 5, isAnythingLeft: true))
        }
    }

    private func input(_ refuse: String?) -> PlannedInput {
        let input = refuse.map { #"{"refuse":"\#($0)"}"# } ?? "{}"
        return PlannedInput(kind: "picky", input: JSONText(trusted: Array(input.utf8)), stage: .whole)
    }
}
