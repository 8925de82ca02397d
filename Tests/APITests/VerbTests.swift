import Client
import ControlProtocol
import Jobs
import OperationTypes
import SQLiteStore
import StoreControl
import Testing

@testable import API

/// Every verb over the real client, server and store.
@Suite struct VerbTests {
    @Test func jobGoesFromEnqueueToItsResult() async throws {
        try await TestServer.with { server in
            let answers = try await server.client.enqueue([.echo("hello")])
            guard case .enqueued(let receipt)? = answers.first else { throw TestFailure("\(answers)") }
            let id = try #require(receipt.jobs.first)
            #expect(try await server.client.result(id) == nil)
            #expect(try await server.client.job(id).job.input == json(#"{"text":"hello"}"#))
            try await server.runAll()
            let result = try #require(try await server.client.result(id))
            #expect(result.value == .succeeded(json(#"{"text":"done"}"#)))
            #expect(try await server.client.job(id).attempts.count == 1)
            #expect(try await server.client.job(id) == (try await server.control.job(id)))
        }
    }

    /// The client sends each submission as one line, even if its JSON contains line feeds.
    @Test func submissionsMayHoldLineFeeds() async throws {
        try await TestServer.with { server in
            let submissions = (1...3).map {
                Submission(.definition("echo"), input: json("{\n  \"text\":\r\n\t\"\($0)\"\n}\n"))
            }
            let answers = try await server.client.enqueue(submissions)
            #expect(answers.count == 3)
            for answer in answers {
                guard case .enqueued = answer else { throw TestFailure("\(answers)") }
            }
            let texts = try await server.client.jobs(JobFilter(order: .oldestFirst)).map { job in
                job.input.flatMap { JSONObject($0)?["text"]?.decodedString }
            }
            #expect(texts == ["1", "2", "3"])
        }
    }

    @Test func refusedSubmissionSaysWhyAndLeavesNothing() async throws {
        try await TestServer.with { server in
            let answers = try await server.client.enqueue([Submission(.definition("ehco"))])
            guard case .refused(let problem)? = answers.first else { throw TestFailure("\(answers)") }
            #expect(problem.code == .unknownDefinition)
            #expect(problem.message.contains("did you mean \"echo\"?"))
            #expect(try await server.client.jobs(JobFilter()).isEmpty)
        }
    }

    @Test func daemonsOwnCheckRefusesAnInput() async throws {
        try await TestServer.with { server in
            let input = json(#"{"text":"a","file":"/etc/passwd"}"#)
            let answers = try await server.client.enqueue([Submission(.definition("echo"), input: input)])
            guard case .refused(let problem)? = answers.first else { throw TestFailure("\(answers)") }
            #expect(problem.code == .outsideRoots)
        }
    }

    @Test func namesInPathsAreDecoded() async throws {
        try await TestServer.with { server in
            for name in ["bad name", "a/b", "ü%20"] {
                let problem = await #expect(throws: ControlProblem.self) {
                    try await server.client.change(QueueChange(name: name, limit: 1))
                }
                #expect(problem?.message.contains("\"\(name)\"") == true, "\(problem?.message ?? "")")
                let unknown = await #expect(throws: ControlProblem.self) {
                    try await server.client.removeDefinition(name)
                }
                #expect(unknown?.code == .notFound && unknown?.message.contains("\"\(name)\"") == true)
            }
        }
    }

    @Test func graphIsEnqueuedListedAndShown() async throws {
        try await TestServer.with { server in
            let receipt = try await server.enqueue(Submission(.definition("chain"), input: json(#"{"text":"x"}"#)))
            let id = try #require(receipt.graph)
            let graph = try await server.client.graph(id)
            #expect(graph.jobs.map(\.node) == ["first", "second"])
            #expect(
                graph.edges == [
                    DependencyRecord(dependent: receipt.jobs[1], dependency: receipt.jobs[0], condition: .succeeded)
                ])
            #expect(try await server.client.graphs(limit: 10, before: nil).map(\.id) == [id])
            #expect(try await server.client.graphs(limit: 10, before: id).isEmpty)
            let detail = try await server.client.job(receipt.jobs[1])
            #expect(detail.dependencies.map(\.job) == [receipt.jobs[0]])
            #expect(try await server.client.job(receipt.jobs[0]).dependents.map(\.job) == [receipt.jobs[1]])
        }
    }

    @Test func listingObeysItsFilter() async throws {
        try await TestServer.with { server in
            var ids: [JobID] = []
            for index in 0..<5 { ids += try await server.enqueue(.echo("\(index)")).jobs }
            var submission = Submission.echo("slow")
            submission.queue = "slow"
            ids += try await server.enqueue(submission).jobs
            #expect(try await server.client.jobs(JobFilter(queue: "slow")).map(\.id) == [ids[5]])
            let page = try await server.client.jobs(JobFilter(after: ids[1], order: .oldestFirst, limit: 2))
            #expect(page.map(\.id) == [ids[2], ids[3]])
            #expect(try await server.client.jobs(JobFilter(states: [.running])).isEmpty)
        }
    }

    @Test func cancelReachesWaitingRunningAndFinalJobs() async throws {
        try await TestServer.with { server in
            let waiting = try await server.enqueue(
                Submission(.definition("echo"), input: json(#"{"text":"a"}"#), start: .after(.seconds(60)))
            ).jobs[0]
            let running = try await server.enqueue(.echo("b")).jobs[0]
            let claimed = try await server.claim()
            #expect(claimed.map(\.lease.job) == [running])
            let unknown = JobID(999)
            let answers = try await server.client.cancel(.jobs([waiting, running, unknown, waiting]))
            #expect(answers.map(\.result) == [.cancelled, .requested, .unknown, .alreadyFinal(.cancelled)])
            let many = try await server.client.cancel(.jobs((1...20_001).map { JobID(1000 + $0) }))
            #expect(many.count == 20_001 && many.allSatisfy { $0.result == .unknown })
            try await server.finish(claimed[0].lease, .cancelled)
            #expect(try await server.client.result(running)?.outcome == .cancelled)
        }
    }

    @Test func graphIsCancelledWhole() async throws {
        try await TestServer.with { server in
            let receipt = try await server.enqueue(Submission(.definition("chain"), input: json(#"{"text":"x"}"#)))
            let answers = try await server.client.cancel(.graph(try #require(receipt.graph)))
            #expect(answers.map(\.job) == receipt.jobs)
            #expect(try await server.client.graph(try #require(receipt.graph)).graph.counts.open == 0)
            let error = await #expect(throws: ControlProblem.self) {
                try await server.client.cancel(.graph(GraphID(99)))
            }
            #expect(error?.code == .notFound)
        }
    }

    @Test func retryRepeatsAFailedJobWithItsSkippedDependents() async throws {
        try await TestServer.with { server in
            let receipt = try await server.enqueue(Submission(.definition("chain"), input: json(#"{"text":"x"}"#)))
            let open = await #expect(throws: ControlProblem.self) {
                try await server.client.retry(receipt.jobs[0], dependents: false)
            }
            #expect(open?.code == .conflict)
            let claimed = try await server.claim()
            try await server.finish(claimed[0].lease, .failed(JobFailure(code: "broken", message: "It broke.")))
            let hopeless = await #expect(throws: ControlProblem.self) {
                try await server.client.retry(receipt.jobs[1], dependents: false)
            }
            #expect(hopeless?.code == .unmetDependency)
            #expect(hopeless?.message.contains("--dependents") == true)
            let keyed = try await server.client.retry(receipt.jobs[0], dependents: true, key: "schlüssel 1")
            #expect(try await server.client.retry(receipt.jobs[0], dependents: true, key: "schlüssel 1") == keyed)
            let again = try await server.client.retry(receipt.jobs[0], dependents: true)
            #expect(again.jobs.count == 2)
            let graph = try await server.client.graph(try #require(again.graph))
            #expect(graph.graph.name == "chain")
            #expect(graph.jobs.map(\.repeats) == receipt.jobs)
            #expect(graph.jobs.map(\.state) == [.ready, .blocked])
            #expect(try await server.client.job(again.jobs[0]).job.input == json(#"{"text":"x"}"#))
            try await server.runAll()
            #expect(try await server.client.result(again.jobs[1])?.outcome == .succeeded)
        }
    }

    @Test func whyTellsEveryReason() async throws {
        try await TestServer.with { server in
            let chain = try await server.enqueue(Submission(.definition("chain"), input: json(#"{"text":"x"}"#)))
            let blocked = try await server.client.why(chain.jobs[1])
            guard case .dependency(let neighbour)? = blocked.reasons.first else { throw TestFailure("\(blocked)") }
            #expect(neighbour.job == chain.jobs[0])
            #expect(try await server.client.why(chain.jobs[0]).reasons == [.turn(queue: "default", ready: 0)])

            let later = try await server.enqueue(
                Submission(.definition("echo"), input: json(#"{"text":"a"}"#), start: .after(.seconds(60)))
            ).jobs[0]
            #expect(try await server.client.why(later).reasons == [.time(dueAt: TestClock.start + .seconds(60))])

            var slow = Submission.echo("a")
            slow.queue = "slow"
            let first = try await server.enqueue(slow).jobs[0]
            let second = try await server.enqueue(slow).jobs[0]
            let claimed = try await server.claim()
            let lease = try #require(claimed.first { $0.lease.job == first }?.lease)
            #expect(try await server.client.why(second).reasons == [.queueLimit(queue: "slow", running: 1, limit: 1)])
            guard case .running(1, _)? = try await server.client.why(first).reasons.first else {
                throw TestFailure("it runs")
            }
            _ = try await server.client.change(QueueChange(name: "slow", limit: 4, limitPerDaemon: .atMost(1)))
            let name = try #require(try await server.store.holders().last).holder.name
            #expect(
                try await server.client.why(second).reasons == [
                    .queueLimitPerDaemon(queue: "slow", limit: 1, daemons: [name])
                ])
            _ = try await server.client.change(QueueChange(name: "slow", limitPerDaemon: .atMost(2)))
            #expect(try await server.client.why(second).reasons == [.turn(queue: "slow", ready: 0)])
            _ = try await server.client.change(QueueChange(name: "slow", isPaused: true))
            #expect(try await server.client.why(second).reasons == [.queuePaused(queue: "slow")])

            let retryAt = TestClock.start + .seconds(30)
            try await server.finish(lease, .retry(JobFailure(code: "flaky", message: "Again."), after: .seconds(30)))
            #expect(
                try await server.client.why(first).reasons == [
                    .retry(dueAt: retryAt, afterCode: "flaky"), .queuePaused(queue: "slow"),
                ])
            _ = try await server.client.cancel(.jobs([first]))
            guard case .final(.cancelled, let failure?)? = try await server.client.why(first).reasons.first else {
                throw TestFailure("it is cancelled")
            }
            #expect(failure.code == "cancelled")
        }
    }

    @Test func aVeryLongNameIsRefusedBeforeItIsSent() async throws {
        try await TestServer.with { server in
            let name = String(repeating: "a", count: 100_000)
            let verbs: [@Sendable () async throws -> Void] = [
                { try await server.client.removeQueue(name) }, { try await server.client.removeDefinition(name) },
                { try await server.client.removeSchedule(name) },
                { _ = try await server.client.retry(JobID(1), dependents: false, key: name) },
            ]
            for verb in verbs {
                let problem = await #expect(throws: ControlProblem.self) { try await verb() }
                #expect(problem?.code == .tooLarge)
            }
        }
    }

    /// A client that follows a job reads that database when the daemon has stopped.
    @Test func everyAnswerNamesTheDatabase() async throws {
        try await TestServer.with { server in
            let asking = SocketControl(path: server.socket)
            #expect(asking.databasePath == nil)
            _ = try await asking.enqueue([Submission.echo("a")])
            #expect(asking.databasePath == server.directory + "/halyard.db")
            let lines = SocketControl(path: server.socket)
            _ = try await lines.enqueue([Submission.echo("a"), .echo("b")])
            #expect(lines.databasePath == server.directory + "/halyard.db")
            let watching = SocketControl(path: server.socket)
            _ = try await watching.watch(.all)
            #expect(watching.databasePath == server.directory + "/halyard.db")
            let odd = "/srv/\"ü\"\n.db"
            try await server.serve(PartialControl(databasePath: odd)) { client in
                await #expect(throws: ControlProblem.self) { try await client.status() }
                #expect(client.databasePath == odd)
            }
        }
    }

    @Test func definitionsAreAppliedExportedAndRemoved() async throws {
        try await TestServer.with { server in
            let document = "definitions:\n  shout:\n    kind: echo\n    timeout: 30s\n"
            let lines = try await server.client.apply(document, dryRun: true)
            #expect(lines == [DefinitionLine(change: .added, type: "definition", name: "shout")])
            #expect(try await server.client.definitions().definitions.map(\.definition.name) == ["echo"])
            _ = try await server.client.apply(document, dryRun: false)
            #expect(try await server.client.definitions() == (try await server.control.definitions()))
            guard
                case .enqueued? = try await server.client.enqueue(
                    [Submission(.definition("shout"), input: json(#"{"text":"a"}"#))]).first
            else { throw TestFailure("the catalog did not hear of the change") }
            let export = try await server.client.exportDefinitions()
            let again = try await server.client.apply(export, dryRun: false)
            #expect(again.allSatisfy { $0.change == .unchanged } && !again.isEmpty)
            try await server.client.removeDefinition("shout")
            let used = await #expect(throws: ControlProblem.self) { try await server.client.removeDefinition("echo") }
            #expect(used?.code == .inUse)
            #expect(used?.message.contains("\"chain\"") == true)
            let unknown = await #expect(throws: ControlProblem.self) {
                try await server.client.removeDefinition("shout")
            }
            #expect(unknown?.code == .notFound)
        }
    }

    @Test func badDocumentChangesNothing() async throws {
        try await TestServer.with { server in
            let document =
                "definitions:\n  good:\n    kind: echo\n  bad:\n    kind: ehco\n  worse:\n    kind: nothing\n"
            let error = await #expect(throws: ControlProblem.self) {
                try await server.client.apply(document, dryRun: false)
            }
            #expect(error?.code == .invalidDefinitions)
            #expect(error?.details.count == 2)
            let left = try await server.client.definitions().definitions.map(\.definition.name)
            #expect(left == ["echo"])
        }
    }

    @Test func pruneDeletesInManySteps() async throws {
        try await TestServer.with { server in
            _ = try await server.client.enqueue((0..<2500).map { .echo("\($0)") })
            try await server.runAll()
            let kept = try await server.enqueue(.echo("open")).jobs[0]
            let later = TestClock.start + .seconds(1)
            #expect(
                try await server.client.prune(PruneRequest(finishedBefore: later, outcomes: [.failed])).deleted == 0)
            #expect(try await server.client.prune(PruneRequest(finishedBefore: later)).deleted == 2500)
            #expect(try await server.client.jobs(JobFilter()).map(\.id) == [kept])
        }
    }

    @Test func statusCountsAndNamesTheDaemon() async throws {
        try await TestServer.with { server in
            _ = try await server.enqueue(.echo("a"))
            let status = try await server.client.status()
            #expect(status.state == .running)
            #expect(status.pid == 42)
            #expect(status.counts[.ready] == 1)
            #expect(status.startedAt == TestClock.start)
            try await server.client.reload()
        }
    }

    @Test func daemonsAreListed() async throws {
        try await TestServer.with { server in
            let holder = Holder(identity: "a", name: "one", host: "web.example", version: "1.0")
            let life = try await server.store.begin(holder, now: TestClock.start)
            let daemons = try await server.client.daemons()
            #expect(daemons.map(\.name) == ["one"])
            #expect(daemons.first?.lease == life.id.rawValue)
            #expect(daemons.first?.state == .running)
            try await server.store.leave(life.id, now: TestClock.start)
            #expect(try await server.client.daemons().map(\.state) == [.ended])
        }
    }

    @Test func workersAreListed() async throws {
        try await TestServer.with { server in
            let workers = try await server.client.workers()
            #expect(workers.map(\.name) == ["photos"])
            #expect(workers.first?.processes.first?.pid == 812)
        }
    }

    @Test func aSuspectSaysThatItWaitsForAProcessToItself() async throws {
        try await TestServer.with { server in
            let job = try await server.enqueue(.echo("a")).jobs[0]
            #expect(try await server.client.why(job).reasons == [.turn(queue: "default", ready: 0)])
            let claimed = try await server.claim()
            let crash = Crash(failure: JobFailure(code: "crashed", message: "m"), others: 1, isExplained: true)
            try await server.finish(claimed[0].lease, .crashed(crash, maxCrashes: 3))
            #expect(try await server.client.why(job).reasons == [.suspect(worker: "photos")])
        }
    }

    @Test func unknownJobAndGraphAreNotFound() async throws {
        try await TestServer.with { server in
            let id = JobID(404)
            for verb in [
                { _ = try await server.client.job(id) }, { _ = try await server.client.result(id) },
                { _ = try await server.client.why(id) }, { _ = try await server.client.retry(id, dependents: false) },
                { _ = try await server.client.graph(GraphID(404)) }, { _ = try await server.client.watch(.job(id)) },
                { _ = try await server.client.watch(.graph(GraphID(404))) },
            ] as [@Sendable () async throws -> Void] {
                let error = await #expect(throws: ControlProblem.self) { try await verb() }
                #expect(error?.code == .notFound)
            }
        }
    }
}
