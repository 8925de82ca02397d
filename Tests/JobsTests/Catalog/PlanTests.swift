import Jobs
import OperationTypes
import Testing

@Suite struct PlanTests {
    private let catalog = Fixtures.catalog
    private func json(_ text: String) -> JSONText { Fixtures.json(text) }

    @Test func loneJobTakesWhatItsDefinitionSays() throws {
        let plan = try catalog.plan(Submission(.definition("fetch"), input: json(#"{"url":"x"}"#)))
        #expect(
            plan
                == NewGraph(
                    isGraph: false,
                    jobs: [
                        NewJob(
                            definition: DefinitionID(1), input: json(#"{"url":"x"}"#), queue: "slow", priority: .high)
                    ]))
    }

    /// The store would refuse it as a defect of ours.
    @Test func anInputTooLargeToStoreIsRefusedWithItsSizeAndTheLimit() {
        let input = json("{\"url\":\"\(String(repeating: "x", count: 1 << 20))\"}")
        let problem = #expect(throws: RequestProblem.self) {
            try catalog.plan(Submission(.definition("fetch"), input: input))
        }
        #expect(problem == .badInput(.tooLarge(bytes: (1 << 20) + 10), job: nil))
        #expect(problem?.description.contains("1048586 bytes; the limit is 1048576") == true)
        let child = ChildJob(definition: "fetch", input: input)
        #expect(throws: RequestProblem.self) { try catalog.plan(child) }
    }

    @Test func whatIsAskedForWinsOverTheDefinition() throws {
        let submission = Submission(
            .definition("fetch"), input: json(#"{"url":"x"}"#), queue: "default", priority: .veryLow,
            after: [.init(job: JobID(7), condition: .finished)], start: .after(.seconds(5)), key: "k")
        let plan = try catalog.plan(submission)
        #expect(
            plan.jobs == [
                NewJob(
                    definition: DefinitionID(1), input: json(#"{"url":"x"}"#), queue: "default", priority: .veryLow,
                    start: .after(.seconds(5)),
                    dependencies: [NewDependency(on: .existing(JobID(7)), condition: .finished)])
            ])
        #expect(plan.key == IdempotencyKey(name: "k", fingerprint: submission.fingerprint))
    }

    @Test func graphDefinitionBecomesAGraphOfItsNodes() throws {
        let submission = Submission(
            .definition("chain"), input: json(#"{"q":"swift","store.to":"there","fetch.limit":5}"#),
            after: [.init(job: JobID(9))], start: .at(Timestamp(milliseconds: 5)))
        let plan = try catalog.plan(submission)
        #expect(
            plan
                == NewGraph(
                    name: "chain", isGraph: true,
                    jobs: [
                        NewJob(
                            definition: DefinitionID(2), node: "find", input: json(#"{"query":"swift"}"#),
                            start: .at(Timestamp(milliseconds: 5)),
                            dependencies: [NewDependency(on: .existing(JobID(9)))]),
                        NewJob(
                            definition: DefinitionID(1), node: "fetch", input: json(#"{"limit":5}"#), queue: "slow",
                            priority: .high, dependencies: [NewDependency(on: .new(0))]),
                        NewJob(
                            definition: DefinitionID(3), node: "store", input: json(#"{"to":"there"}"#), queue: "slow",
                            priority: .low, dependencies: [NewDependency(on: .new(1), condition: .finished)]),
                    ]))
        let urgent = try catalog.plan(
            Submission(
                .definition("chain"), input: json(#"{"q":"a","to":"b"}"#), queue: "default", priority: .veryHigh))
        #expect(urgent.jobs.map(\.queue) == ["default", "default", "default"])
        #expect(urgent.jobs.map(\.priority) == [.veryHigh, .veryHigh, .veryHigh])
    }

    @Test func ownGraphMayNameJobsLaterAndExistingOnes() throws {
        let jobs = [
            JobRequest(node: "b", definition: "find", input: json(#"{"query":"b"}"#), after: [.init(.node("a"))]),
            JobRequest(
                node: "a", definition: "find", input: json(#"{"query":"a"}"#), queue: "slow",
                after: [.init(.job(JobID(3)), condition: .finished)]),
            JobRequest(definition: "find", input: json(#"{"query":"c"}"#), startAt: Timestamp(milliseconds: 1)),
        ]
        let plan = try catalog.plan(
            Submission(
                .jobs(jobs, name: "mine"), queue: "default", priority: .low, after: [.init(job: JobID(4))],
                start: .at(Timestamp(milliseconds: 2))))
        #expect(plan.name == "mine" && plan.isGraph)
        #expect(plan.jobs.map(\.node) == ["b", "a", nil])
        #expect(plan.jobs.map(\.queue) == ["default", "slow", "default"])
        #expect(plan.jobs.map(\.priority) == [.low, .low, .low])
        #expect(plan.jobs.map(\.start) == [.now, .at(Timestamp(milliseconds: 2)), .at(Timestamp(milliseconds: 1))])
        #expect(
            plan.jobs.map(\.dependencies) == [
                [NewDependency(on: .new(1))],
                [
                    NewDependency(on: .existing(JobID(3)), condition: .finished),
                    NewDependency(on: .existing(JobID(4))),
                ], [NewDependency(on: .existing(JobID(4)))],
            ])
        let lone = try catalog.plan(Submission(.jobs([jobs[2]], name: nil)))
        #expect(!lone.isGraph && lone.name == nil)
    }

    @Test func childIsPlannedLikeASubmission() throws {
        let plan = try catalog.plan(
            ChildJob(definition: "find", input: json(#"{"query":"x"}"#), queue: "slow", priority: .high))
        #expect(
            plan.jobs == [
                NewJob(definition: DefinitionID(2), input: json(#"{"query":"x"}"#), queue: "slow", priority: .high)
            ])
    }

    /// What code names, nobody sees when a queue is removed.
    @Test func aChildMayNameAQueueThatIsNotThereButNotAnyText() throws {
        func child(_ queue: String) -> ChildJob {
            ChildJob(definition: "find", input: json(#"{"query":"x"}"#), queue: queue)
        }
        #expect(try catalog.plan(child("removed")).jobs.map(\.queue) == ["removed"])
        #expect(throws: RequestProblem.self) { try catalog.plan(child("No Name")) }
        let asked = Submission(.definition("find"), input: json(#"{"query":"x"}"#), queue: "removed")
        #expect(throws: RequestProblem.self) { try catalog.plan(asked) }
    }

    @Test func kindOfAnExistingJobIsLookedAtWhereItIsKnown() throws {
        let submission = Submission(.definition("fetch"), after: [.init(job: JobID(5))])
        #expect(throws: Never.self) { try catalog.plan(submission) }
        #expect(throws: Never.self) { try catalog.plan(submission, kindsOfJobs: [JobID(5): "find"]) }
        let problem = #expect(throws: RequestProblem.self) {
            try catalog.plan(submission, kindsOfJobs: [JobID(5): "store"])
        }
        #expect(
            problem?.description
                == #"job "fetch" is missing the field "url" and accepts Link, but job 5 offers Receipt; set the field, or add a dependency that offers Link"#
        )
    }

    // MARK: Refusals

    private func refusal(_ submission: Submission) -> String? {
        do throws(RequestProblem) {
            _ = try catalog.plan(submission)
            return nil
        } catch {
            return error.description
        }
    }

    @Test(arguments: [
        (Submission(.definition("fetsh")), #"unknown definition "fetsh"; did you mean "fetch"?"#),
        (Submission(.definition("chainn")), #"unknown definition "chainn"; did you mean "chain"?"#),
        (
            Submission(.definition("elsewhere")),
            #"unknown definition "elsewhere"; there are chain, collect, echo, fetch, find, raw, store"#
        ),
        (Submission(.definition("broken")), #""broken" cannot be used: unknown kind "fetsch"; did you mean "fetch"?"#),
        (Submission(.definition("find"), queue: "slwo"), #"unknown queue "slwo"; did you mean "slow"?"#),
        (Submission(.definition("find"), queue: "nowhere"), #"unknown queue "nowhere"; the queues are default, slow"#),
        (Submission(.definition("find")), #"the field "query" is missing; add it"#),
        (
            Submission(.definition("find"), input: Fixtures.json(#"{"query":null}"#)),
            #"the field "query" is missing; add it"#
        ),
        (
            Submission(.definition("fetch")),
            #"the field "url" is missing; add it, or a dependency that offers Link"#
        ),
        (
            Submission(.definition("fetch"), input: Fixtures.json(#"["x"]"#)),
            "the input must be a JSON object, found an array"
        ),
        (
            Submission(.definition("fetch"), input: Fixtures.json(#"{"url":"x","methd":"GET"}"#)),
            #"unknown field "methd"; did you mean "method"?"#
        ),
        (
            Submission(.definition("fetch"), input: Fixtures.json(#"{"url":"x","method":"POST"}"#)),
            #"the field "method" must be one of GET, HEAD"#
        ),
        (
            Submission(.definition("fetch"), input: Fixtures.json(#"{"url":"x","limit":"5"}"#)),
            #"the field "limit" must be a whole number, found a string"#
        ),
        (Submission(.definition("raw"), key: ""), "the key has 0 bytes; use 1 to 255"),
        (
            Submission(.definition("raw"), key: String(repeating: "ä", count: 128)),
            "the key has 256 bytes; use 1 to 255"
        ),
        (Submission(.definition("raw"), start: .after(.seconds(-1))), "the wait must be between 0s and 36500d"),
        (
            Submission(.definition("chain"), input: Fixtures.json(#"{"qq":"x"}"#)),
            #"unknown parameter "qq"; did you mean "q"?"#
        ),
        (
            Submission(.definition("chain"), input: Fixtures.json(#"{"fetch.lmit":"x"}"#)),
            #"unknown parameter "fetch.lmit"; did you mean "fetch.limit"?"#
        ),
        (
            Submission(.definition("chain"), input: Fixtures.json(#"{"q":"x","find.query":"x"}"#)),
            #""find.query" is given twice; give it once"#
        ),
        (
            Submission(.definition("chain"), input: Fixtures.json(#"{"q":"x"}"#)),
            #"node "store": the field "to" is missing; add it"#
        ),
        (
            Submission(.definition("chain"), input: Fixtures.json(#"{"q":"x","to":1}"#)),
            #"node "store": the field "to" must be a string, found a number"#
        ),
        (
            Submission(.definition("chain"), input: Fixtures.json("5")),
            "the input must be a JSON object, found a number"
        ),
        (Submission(.jobs([], name: nil)), "the graph has no jobs; give at least one"),
        (
            Submission(.jobs([JobRequest(definition: "raw")], name: ""), key: nil),
            "the graph's name has 0 bytes; use 1 to 255"
        ),
        (
            Submission(.jobs([JobRequest(definition: "raw")], name: nil), input: .emptyObject),
            #""input" is allowed only with a definition; give each job of the graph its own input"#
        ),
    ])
    func badSubmissionIsRefused(submission: Submission, message: String) {
        #expect(refusal(submission) == message)
    }

    private static func raw(_ node: String?, after: [JobRequest.Dependency.Job] = []) -> JobRequest {
        JobRequest(node: node, definition: "raw", after: after.map { .init($0) })
    }

    @Test(arguments: [
        ([raw("a"), raw("a")], #"two nodes are named "a"; rename one"#),
        (
            [raw("1")],
            #"the node name "1" is not allowed; use letters, digits, "_" and "-", beginning with a letter, at most 64 bytes"#
        ),
        ([raw("first"), raw("b", after: [.node("frist")])], #"node "b": unknown node "frist"; did you mean "first"?"#),
        ([raw("first"), raw(nil, after: [.node("x")])], #"job #2: unknown node "x"; the nodes are first"#),
        (
            [raw("a"), raw("b", after: [.node("a"), .node("a")])],
            #"node "b" depends on node "a" twice; keep one of the two"#
        ),
        (
            [raw("b", after: [.job(JobID(4)), .job(JobID(4))])],
            #"node "b" depends on job 4 twice; keep one of the two"#
        ),
        (
            [raw("a", after: [.node("c")]), raw("b", after: [.node("a")]), raw("c", after: [.node("b")])],
            "the dependencies form a cycle: a → b → c → a; remove one of these edges"
        ),
        (
            [raw("a"), JobRequest(node: "b", definition: "rw")],
            #"node "b": unknown definition "rw"; did you mean "raw"?"#
        ),
        (
            [raw("a"), JobRequest(definition: "broken")],
            #"job #2: "broken" cannot be used: unknown kind "fetsch"; did you mean "fetch"?"#
        ),
        (
            [raw("a"), JobRequest(node: "b", definition: "chain")],
            #"node "b": "chain" is a graph; enqueue it by itself, or use a definition"#
        ),
        (
            [raw("a"), JobRequest(definition: "raw", queue: "x")],
            #"job #2: unknown queue "x"; the queues are default, slow"#
        ),
        (
            [raw("a"), JobRequest(node: "b", definition: "fetch", after: [.init(.node("a"))])],
            #"node "b" is missing the field "url" and accepts Link, but node "a" offers JSONText; set the field, or add a dependency that offers Link"#
        ),
        ([raw("a"), JobRequest(definition: "find")], #"job #2: the field "query" is missing; add it"#),
    ])
    func badGraphIsRefused(jobs: [JobRequest], message: String) {
        #expect(refusal(Submission(.jobs(jobs, name: nil))) == message)
    }

    @Test func longCycleIsNamedInShort() {
        let jobs = (0..<1000).map { Self.raw("n\($0)", after: [.node("n\(($0 + 999) % 1000)")]) }
        #expect(
            refusal(Submission(.jobs(jobs, name: nil)))
                == "the dependencies form a cycle: n0 → n1 → n2 → n3 → n4 → … (1000 nodes) → n995 → n996 → n997 → n998 → n999 → n0; remove one of these edges"
        )
    }
}
