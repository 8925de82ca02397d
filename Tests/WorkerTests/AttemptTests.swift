import Jobs
import OperationTypes
import Programs
import RunningWorkers
import Testing
import WorkerProtocol

@Suite struct AttemptTests {
    @Test func anInputIsAnsweredWithTheOutput() async throws {
        try await RunningWorker.with { worker in
            let end = try await worker.run("echo", #"{"a": [1, "ä"]}"#)
            #expect(
                end
                    == .succeeded(
                        .first(of: 1), output: JSONText(trusted: Array(#"{"a": [1, "ä"]}"#.utf8)), children: [])
            )
        }
    }

    @Test func attemptsOfOneWriteAreAnnouncedTogetherBeforeTheyEnd() async throws {
        try await RunningWorker.with { worker in
            worker.send(
                .run(Run(lease: .first(of: 1), kind: "echo", input: .null)),
                .run(Run(lease: .first(of: 2), kind: "echo", input: .null)))
            try await worker.end(of: .first(of: 1))
            try await worker.end(of: .first(of: 2))
            let messages = try worker.messages
            #expect(messages[1] == .started([.first(of: 1), .first(of: 2)]))
            #expect(messages.count == 4)
        }
    }

    @Test func theOutputsOfDependenciesReachTheirAttempt() async throws {
        try await RunningWorker.with { worker in
            worker.send(
                .output(DependencyMessage(lease: .first(of: 1), kind: "echo", output: JSONText(string: "a"))),
                .output(DependencyMessage(lease: .first(of: 2), kind: "echo", output: JSONText(string: "other"))),
                .output(DependencyMessage(lease: .first(of: 1), kind: "elsewhere", output: .null)),
                .run(Run(lease: .first(of: 1), kind: "join", input: .emptyObject)))
            guard case .succeeded(_, let output, _) = try await worker.end(of: .first(of: 1)) else {
                Issue.record("the attempt failed")
                return
            }
            #expect(output.string == #"["\"a\"","null"]"#)
        }
    }

    @Test func aFailureKeepsItsJudgementOnRetrying() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "fail", number: 250, text: "no luck")))
            guard case .failed(_, let failed) = try await worker.end(of: .first(of: 1)) else {
                Issue.record("the attempt succeeded")
                return
            }
            #expect(failed.failure.code == "chosen")
            #expect(failed.failure.message == "no luck")
            #expect(failed.failure.detail != nil)
            #expect(failed.isRetryable)
            #expect(failed.retryAfter == .milliseconds(250))
        }
    }

    @Test func anInputThatDoesNotFitFailsWithoutBeingRepeated() async throws {
        try await RunningWorker.with { worker in
            let end = try await worker.run("act", #"{"action":"secret","number":"secret"}"#)
            guard case .failed(_, let failed) = end else {
                Issue.record("the attempt succeeded")
                return
            }
            #expect(failed.failure.code == JobFailure.Code.invalidInput)
            #expect(!failed.failure.message.contains("secret"))
        }
    }

    @Test func anAttemptOfAnUnknownKindFails() async throws {
        try await RunningWorker.with { worker in
            let end = try await worker.run("elsewhere", "{}")
            let message = "this worker has no kind elsewhere; use a worker that has it, then retry the job"
            let failure = JobFailure(code: JobFailure.Code.unknownKind, message: message)
            #expect(end == .failed(.first(of: 1), TryFailure(failure, isRetryable: false)))
            #expect(try worker.messages.dropLast().last == .started([.first(of: 1)]))
        }
    }

    @Test func enqueuedJobsAreSentWithTheSuccess() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "children", number: 2)))
            let end = try await worker.end(of: .first(of: 1))
            let children = [ChildJob(definition: "child0"), ChildJob(definition: "child1")]
            #expect(end == .succeeded(.first(of: 1), output: .null, children: children))
        }
    }

    // MARK: Limits

    @Test func theLargestOutputIsAccepted() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "size", number: JSONText.maxBytes)))
            guard case .succeeded(_, let output, _) = try await worker.end(of: .first(of: 1)) else {
                Issue.record("the attempt failed")
                return
            }
            #expect(output.bytes.count == JSONText.maxBytes)
        }
    }

    @Test(arguments: [
        (Run(job: 1, action: "size", number: JSONText.maxBytes + 1), JobFailure.Code.resultTooLarge),
        (
            Run(job: 1, action: "children", number: 4, text: String(repeating: "x", count: 600_000)),
            JobFailure.Code.childrenRefused
        ),
        (Run(job: 1, action: "nul"), JobFailure.Code.invalidOutput), (Run(job: 1, action: "fail with nul"), "nul"),
    ])
    func aMessageThatTheDaemonWouldRefuseFailsOnlyItsAttempt(_ run: Run, _ code: String) async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(run))
            guard case .failed(_, let failed) = try await worker.end(of: .first(of: 1)) else {
                Issue.record("the attempt succeeded")
                return
            }
            #expect(failed.failure.code == code)
            try await worker.run("echo", "{}", job: 2)
        }
    }

    @Test func manyAttemptsEndWhileNobodyReads() async throws {
        // The outputs exceed the pipe's capacity many times; the test reads them one by one.
        try await RunningWorker.with { worker in
            for job in 1...20 { worker.send(.run(Run(job: Int64(job), action: "size", number: 70_000))) }
            for job in 1...20 { try await worker.end(of: .first(of: Int64(job))) }
        }
    }

    // MARK: While an attempt runs

    @Test func progressIsThrottledAndTheLatestReportArrives() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "progress", number: 10_000)))
            let last = OperationProgress(completed: 10_000, total: 10_000, unit: "steps")
            try await worker.message { $0 == .progress(.first(of: 1), last) }
            let first = OperationProgress(completed: 1, total: 10_000, unit: "steps")
            let reports = try worker.messages.filter { if case .progress = $0 { true } else { false } }
            #expect(reports.first == .progress(.first(of: 1), first))
            #expect(reports.count < 1000)
        }
    }

    @Test func requestsAreSentJustBeforeTheEnd() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "connect")))
            try await worker.end(of: .first(of: 1))
            guard case .connections(.first(of: 1), let json) = try #require(try worker.messages.dropLast().last) else {
                Issue.record("the message before the end is another one")
                return
            }
            let records = ConnectionRecord.list(in: json)
            #expect(records.map(\.origin) == ["https://example.org"])
            #expect(records.first?.status == 200)
        }
    }

    @Test func requestsAreSentWhenAnAttemptIsAskedToStop() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "connect and wait")))
            try await worker.progress(of: .first(of: 1))
            worker.send(.stop(.first(of: 1), StopRequest(.timedOut, isForGood: false)))
            try await worker.message { if case .connections(.first(of: 1), _) = $0 { true } else { false } }
        }
    }

    @Test func printingAndReadingDoNotDisturbTheConversation() async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "print", text: "hello from a kind")))
            let end = try await worker.end(of: .first(of: 1))
            #expect(end == .succeeded(.first(of: 1), output: JSONText(integer: 0), children: []))
            #expect(await worker.process.errors.first(containing: "hello from a kind") != nil)
        }
    }

    // MARK: Stopping

    @Test(arguments: [true, false])
    func anAttemptStopsAndKnowsWhetherForGood(_ isForGood: Bool) async throws {
        try await RunningWorker.with { worker in
            worker.send(.run(Run(job: 1, action: "wait")))
            try await worker.progress(of: .first(of: 1))
            worker.send(.stop(.first(of: 1), StopRequest(.cancelled, isForGood: isForGood)))
            guard case .failed(_, let failed) = try await worker.end(of: .first(of: 1)) else {
                Issue.record("the attempt succeeded")
                return
            }
            #expect(failed.failure.message == "for good: \(isForGood), would end: \(isForGood)")
        }
    }

    @Test func aStopInTheSameWriteReachesItsAttempt() async throws {
        try await RunningWorker.with { worker in
            worker.send(
                .run(Run(job: 1, action: "wait")), .stop(.first(of: 1), StopRequest(.interrupted, isForGood: false)))
            try await worker.end(of: .first(of: 1))
        }
    }

    @Test func aStopForAnUnknownAttemptIsIgnored() async throws {
        try await RunningWorker.with { worker in
            worker.send(.stop(.first(of: 9), StopRequest(.cancelled, isForGood: true)))
            try await worker.run("echo", "{}")
        }
    }

    @Test(arguments: [(0, 1, true), (0, 2, false), (1, 2, true)])
    func theRetryPolicyDecidesWhetherAFailureWouldEndTheJob(_ used: Int, _ tries: Int, _ isLast: Bool) async throws {
        try await RunningWorker.with { worker in
            var run = Run(job: 1, action: "would end")
            run.tries = used
            run.retry = RetryPolicy(tries: tries)
            worker.send(.run(run))
            let end = try await worker.end(of: .first(of: 1))
            #expect(end == .succeeded(.first(of: 1), output: JSONText(boolean: isLast), children: []))
        }
    }
}
