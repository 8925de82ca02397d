import ControlProtocol
import Jobs
import SQLiteStore
import StoreControl
import Synchronization
import Testing

/// Requests that come to very many jobs.
@Suite struct ManyJobsTests {
    private static func graph(nodes: Int) -> GraphDefinition {
        GraphDefinition(name: "wide", nodes: (0..<nodes).map { .init(name: "n\($0)", definition: "echo") })
    }

    private func control(_ files: TestStore) -> StoreControl {
        StoreControl(store: files.store, database: files.database, version: "test", now: { TestStore.moment })
    }

    /// A commit holds up every other write, so thirty graphs of a thousand jobs take many commits, and all are
    /// accepted.
    @Test func manyGraphsAreWrittenInSeveralCommits() async throws {
        try await TestStore.with { files in
            try await files.store.change(DefinitionChange(graphs: [Self.graph(nodes: 1000)]), now: TestStore.moment)
            let commits = Mutex<[Int]>([])
            let observation = files.store.observe { change in
                if case .jobs(let jobs) = change { commits.withLock { $0.append(jobs.count) } }
            }
            defer { observation.cancel() }
            let submissions = (0..<30).map { index in
                Submission(.definition(index == 7 ? "none" : "wide"))
            }
            let answers = try await control(files).enqueue(submissions)
            for (index, answer) in answers.enumerated() {
                switch answer {
                case .enqueued(let receipt): #expect(index != 7 && receipt.jobs.count == 1000)
                case .refused(let problem): #expect(index == 7 && problem.code == .unknownDefinition)
                case .duplicate: Issue.record("line \(index) is no duplicate")
                }
            }
            #expect(commits.withLock(\.self) == Array(repeating: 2000, count: 14) + [1000])
        }
    }

    /// However many ask for very many jobs, two of them plan and write at a time, so that no other write waits for all.
    @Test(.timeLimit(.minutes(2))) func fewRequestsOfManyJobsAreCarriedOutAtOnce() async throws {
        try await TestStore.with { files in
            let nodes = 1001
            try await files.store.change(DefinitionChange(graphs: [Self.graph(nodes: nodes)]), now: TestStore.moment)
            let planned = Mutex((open: 0, most: 0))
            let observation = files.store.observe { change in
                // Before the callers hear of it.
                if case .jobs(let jobs) = change { planned.withLock { $0.open -= jobs.count } }
            }
            defer { observation.cancel() }
            let hooks = DaemonHooks(
                condition: { .init(state: .running, pid: 42, startedAt: TestStore.moment) },
                beginInputCheck: {
                    { inputs in
                        planned.withLock { planned in
                            planned.open += inputs.count
                            planned.most = max(planned.most, planned.open)
                        }
                        return inputs.map { _ in nil }
                    }
                })
            let control = StoreControl(
                store: files.store, database: files.database, version: "test", daemon: hooks,
                now: { TestStore.moment })
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<12 {
                    group.addTask {
                        try await control.enqueue([Submission(.definition("wide"))])[0].receipt().jobs.count
                    }
                }
                for try await count in group { #expect(count == nodes) }
            }
            let (open, most) = planned.withLock { $0 }
            #expect(open == 0)
            #expect(most >= nodes && most <= 2 * nodes)
        }
    }

    @Test func aRequestThatEndedBeforeItsTurnWritesNothing() async throws {
        try await TestStore.with { files in
            try await files.store.change(DefinitionChange(graphs: [Self.graph(nodes: 1001)]), now: TestStore.moment)
            let control = control(files)
            let asking = Task { () async -> ControlProblem? in
                while !Task.isCancelled { await Task.yield() }
                return await #expect(throws: ControlProblem.self) {
                    _ = try await control.enqueue([Submission(.definition("wide"))])
                }
            }
            asking.cancel()
            let problem = await asking.value
            #expect(problem?.code == .unavailable)
            #expect(try await files.store.queues().allSatisfy { $0.counts.total == 0 })
        }
    }

    /// What was accepted before the database could no longer be written stands, and is told.
    @Test func whatWasAcceptedBeforeAFailureStands() async throws {
        try await TestStore.with { files in
            try await files.store.change(DefinitionChange(graphs: [Self.graph(nodes: 10_000)]), now: TestStore.moment)
            try await files.tamper(
                "CREATE TRIGGER full BEFORE INSERT ON graph WHEN NEW.id > 1 BEGIN SELECT RAISE(ABORT, 'full'); END")
            let answers = try await control(files).enqueue([
                Submission(.definition("wide")), Submission(.definition("wide")), Submission(.definition("echo")),
            ])
            guard case .enqueued(let receipt) = answers[0], case .refused(let problem) = answers[1] else {
                Issue.record("\(answers)")
                return
            }
            #expect(receipt.jobs.count == 10_000)
            #expect(!problem.isRefusal)
            #expect(answers[2] == .refused(problem))
        }
    }

    /// The store writes a very large graph apart from the submissions beside it, so its failure says nothing about them.
    @Test func whatStandsBesideAVeryLargeGraphThatFailsIsNotRefused() async throws {
        try await TestStore.with { files in
            try await files.tamper(
                "CREATE TRIGGER full BEFORE INSERT ON graph BEGIN SELECT RAISE(ABORT, 'full'); END")
            let job = JobRequest(definition: "echo")
            let answers = try await control(files).enqueue([
                Submission(.definition("echo")), Submission(.jobs(Array(repeating: job, count: 3000), name: nil)),
                Submission(.definition("echo")),
            ])
            guard case .enqueued = answers[0], case .refused(let problem) = answers[1] else {
                Issue.record("\(answers)")
                return
            }
            #expect(!problem.isRefusal)
            #expect(answers[2] == .refused(problem))
            #expect(try await files.store.counts().total == 1)
        }
    }

    @Test func aSubmissionOfTooManyJobsIsRefused() async throws {
        try await TestStore.with { files in
            let job = JobRequest(definition: "echo")
            let answers = try await control(files).enqueue([
                Submission(.jobs(Array(repeating: job, count: Submission.maxJobs + 1), name: nil))
            ])
            guard case .refused(let problem) = answers[0] else {
                Issue.record("\(answers)")
                return
            }
            #expect(problem.code == .tooLarge)
            #expect(problem.message.contains("the limit is 100000"))
            #expect(try await files.store.queues().allSatisfy { $0.counts.total == 0 })
        }
    }

    /// Each claim looks at every queue, and none can be removed.
    @Test func moreThanAThousandQueuesAreRefused() async throws {
        try await TestStore.with { files in
            let control = control(files)
            func document(_ queues: Range<Int>) -> String {
                "queues:\n" + queues.map { "  q\($0): {limit: 1}\n" }.joined()
            }
            let problem = await #expect(throws: ControlProblem.self) {
                _ = try await control.apply(document(0..<1000), dryRun: false)
            }
            #expect(problem?.code == .invalidDefinitions)
            #expect(problem?.message.contains("there are already 1000 queues, the maximum") == true)
            // With the one that every database has.
            _ = try await control.apply(document(0..<999), dryRun: false)
            _ = try await control.change(QueueChange(name: "q7", limit: 2))
            await #expect(throws: ControlProblem.self) {
                _ = try await control.change(QueueChange(name: "another", limit: 2), create: true)
            }
            #expect(try await files.store.queues().count == 1000)
        }
    }

    /// Each of the two would be refused after the other; together, one is.
    @Test func aChangeIsCheckedAgainstWhatItIsWrittenOver() async throws {
        try await TestStore.with { files in
            let control = control(files)
            for round in 0..<30 {
                let name = "d\(round)"
                _ = try await control.apply("definitions: {\(name): {kind: echo}}", dryRun: false)
                let graph = "graphs: {g\(round): {nodes: {a: {definition: \(name)}}}}"
                async let applied: Bool = accepts { _ = try await control.apply(graph, dryRun: false) }
                async let removed: Bool = accepts { try await control.removeDefinition(name) }
                let both = await (applied, removed)
                #expect(both.0 != both.1, "round \(round)")
            }
        }
    }

    private func accepts(_ change: () async throws -> Void) async -> Bool {
        do {
            try await change()
            return true
        } catch {
            return false
        }
    }
}
