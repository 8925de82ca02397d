import CalendarEvents
import Jobs
import OperationTypes

extension Check {
    static let settings: [Check] = [
        Check("aDefinitionComesBackAsItWasWritten") { bench in
            let definition = Definition(
                name: "fetch", kind: "http", summary: "Fetches.", queue: "default", priority: .veryHigh,
                retry: RetryPolicy(
                    tries: 7, delay: .exponential(initial: .milliseconds(250), multiplier: 1.5, cap: .seconds(90)),
                    jitter: .full, failures: .codes(["a", "b"])),
                timeout: .seconds(30), input: JSONText("{\"method\":\"GET\"}"))
            let graph = GraphDefinition(
                name: "both", summary: "Two.",
                nodes: [
                    GraphDefinition.Node(name: "a", definition: "step"),
                    GraphDefinition.Node(
                        name: "b", definition: "fetch", after: [GraphDefinition.Edge(node: "a", condition: .finished)],
                        input: JSONText("{\"x\":1}"), queue: "default", priority: .low),
                ], parameters: [GraphDefinition.Parameter(name: "url", node: "b", field: "url")])
            try await bench.change(DefinitionChange(definitions: [definition], graphs: [graph]))
            try await bench.restart()
            let set = try await bench.store.definitions()
            try expectEqual(set.definitions.map(\.definition.name), ["fetch", "step"])
            try expectEqual(set.definitions[0].definition, definition)
            try expectEqual(set.definitions[0].revision, 1)
            try expectEqual(set.definitions[0].updatedAt, bench.now)
            try expectEqual(set.graphs.map(\.definition), [graph])
        },
        Check("aDefinitionKeepsItsProgram") { bench in
            let json = #"{"program":["/bin/a","{x}"],"fields":{"x":{"type":"string"}},"stdin":"none","result":"text"}"#
            let program = try ProgramDefinition(json: JSONText(trusted: Array(json.utf8)), at: [])
            let definition = Definition(name: "step", kind: "program", program: program)
            try await bench.change(DefinitionChange(definitions: [definition]))
            try expectEqual(try await bench.store.definitions().definitions.map(\.definition), [definition])
        },
        Check("writingWhatIsThereMakesNoNewRevision") { bench in
            let changes = Recorder(bench.store)
            let definition = Definition(name: "step", kind: "noop")
            try await bench.change(DefinitionChange(definitions: [definition]))
            try expectEqual(try await bench.store.definitions().definitions.map(\.id), [bench.step])
            try expectEqual(changes.all, [])
        },
        Check("aJobKeepsTheRevisionItWasEnqueuedWith") { bench in
            let job = try await bench.enqueue(bench.job())
            bench.advance(.seconds(1))
            let changed = Definition(name: "step", kind: "noop", timeout: .seconds(9))
            try await bench.change(DefinitionChange(definitions: [changed]))
            let current = try unwrap(try await bench.store.definitions().definitions.first)
            try expectEqual(current.revision, 2)
            try expect(current.id != bench.step, "the new revision has a number of its own")
            try expectEqual(try await bench.record(job).definitionRevision, 1)
            try expectEqual(try await bench.store.definition(bench.step)?.definition.timeout, nil)
            try expectEqual(try await bench.store.definition(current.id)?.definition, changed)
            try expectEqual(try await bench.claimOne().definition, bench.step)
        },
        Check("aRemovedDefinitionIsGoneButItsJobsGoOn") { bench in
            let job = try await bench.enqueue(bench.job())
            try await bench.change(DefinitionChange(removals: ["step"]))
            try expectEqual(try await bench.store.definitions().definitions, [])
            try expectEqual(try await bench.record(job).definition, "step")
            try expect(try await bench.store.definition(bench.step) != nil, "the revision is kept")
            try await bench.change(DefinitionChange(definitions: [Definition(name: "step", kind: "noop")]))
            try expectEqual(try await bench.store.definitions().definitions.map(\.revision), [2])
        },
        Check("definitionsAndGraphDefinitionsShareOneSpaceOfNames") { bench in
            let graph = GraphDefinition(name: "step", nodes: [GraphDefinition.Node(name: "a", definition: "other")])
            try await bench.change(DefinitionChange(graphs: [graph]))
            let set = try await bench.store.definitions()
            try expectEqual(set.definitions, [])
            try expectEqual(set.graphs.map(\.definition.name), ["step"])
        },
        Check("problemsAreKeptByNameAndClearedForAllOthers") { bench in
            try await bench.change(
                DefinitionChange(
                    definitions: [Definition(name: "other", kind: "gone")],
                    graphs: [GraphDefinition(name: "graph", nodes: [GraphDefinition.Node(name: "a", definition: "x")])])
            )
            try await bench.store.recordProblems(
                ["other": "no such kind", "graph": "no such node"], by: bench.holder)
            var set = try await bench.store.definitions()
            try expectEqual(set.definitions.map(\.problem), ["no such kind", nil])
            try expectEqual(set.graphs.map(\.problem), ["no such node"])
            try await bench.store.recordProblems(["step": "new"], by: bench.holder)
            set = try await bench.store.definitions()
            try expectEqual(set.definitions.map(\.problem), [nil, "new"])
            try expectEqual(set.graphs.map(\.problem), [nil])
        },
        Check("registeredKindsReplaceThoseBefore") { bench in
            let upload = KindDescription(
                name: "upload", summary: "Uploads.", inputType: "Upload.Input", outputType: "Upload.Output",
                accepts: "[Link]", offers: "Upload.Output",
                fields: [
                    InputField("url", .string, schemes: ["https"], isRequired: true, summary: "Where to."),
                    InputField("max_bytes", .integer, range: 1...Int64.max, summary: "How much."),
                    InputField("method", .string, choices: ["PUT", "POST"], summary: "How."),
                ])
            var unfurl = upload
            unfurl.name = "unfurl"
            unfurl.accepts = nil
            try await bench.store.register([upload, unfurl], by: bench.holder, now: bench.now)
            try expectEqual(try await bench.store.definitions().kinds, [unfurl, upload])
            try await bench.store.register([upload], by: bench.holder, now: bench.now)
            try expectEqual(try await bench.store.definitions().kinds, [upload])
        },
        Check("everyDatabaseHasTheDefaultQueue") { bench in
            let queues = try await bench.store.queues()
            try expectEqual(queues.map(\.settings), [QueueSettings(name: QueueSettings.defaultName)])
        },
        Check("aQueueIsMadeByItsFirstChangeAndKeepsTheRest") { bench in
            var record = try await bench.change(QueueChange(name: "mail", weight: 5))
            try expectEqual(record.settings, QueueSettings(name: "mail", weight: 5))
            record = try await bench.change(QueueChange(name: "mail", limit: 3, limitPerDaemon: .atMost(2)))
            try expectEqual(record.settings, QueueSettings(name: "mail", limit: 3, limitPerDaemon: 2, weight: 5))
            record = try await bench.change(QueueChange(name: "mail", limitPerDaemon: .unlimited))
            try expectEqual(record.settings, QueueSettings(name: "mail", limit: 3, weight: 5))
            record = try await bench.change(QueueChange(name: "mail", limitPerDaemon: .atMost(9)))
            record = try await bench.change(QueueChange(name: "mail", limit: 4))
            try expectEqual(record.settings, QueueSettings(name: "mail", limit: 4, limitPerDaemon: 9, weight: 5))
            try await bench.restart()
            try expectEqual(try await bench.store.queues().map(\.settings.name), ["default", "mail"])
            try expectEqual(try await bench.store.queues().last, record)
        },
        Check("aQueueThatNothingUsesIsRemovedAndMayBeMadeAnew") { bench in
            try await bench.change(QueueChange(name: "mail", limit: 3, limitPerDaemon: .atMost(1), isPaused: true))
            try expectEqual(try await bench.store.removeQueue("mail", now: bench.now), .removed)
            try expectEqual(try await bench.store.removeQueue("mail", now: bench.now), .unknown)
            try expectEqual(try await bench.store.removeQueue("default", now: bench.now), .unknown)
            try expectEqual(try await bench.store.queues().map(\.settings.name), ["default"])
            try expectEqual(
                try await bench.refusal(of: NewGraph(isGraph: false, jobs: [bench.job(queue: "mail")])),
                .unknownQueue("mail"))
            try await bench.restart()
            try expectEqual(try await bench.store.queues().map(\.settings.name), ["default"])
            let record = try await bench.change(QueueChange(name: "mail", weight: 2))
            try expectEqual(record.settings, QueueSettings(name: "mail", weight: 2))
            try expectEqual(record.pausedAt, nil)
            try expectEqual(try await bench.store.removeQueue("mail", now: bench.now), .removed)
            try await bench.change(QueueChange(name: "post"))
            let job = try await bench.enqueue(bench.job(queue: "post"))
            try expectEqual(try await bench.claimOne().lease.job, job)
        },
        Check("aQueueIsKeptWhileSomethingUsesIt") { bench in
            let node = GraphDefinition.Node(name: "a", definition: "step", queue: "mail")
            let schedule = Schedule(
                name: "often", calendar: [try CalendarExpression("minutely")], definition: "step", queue: "mail")
            try await bench.change(
                DefinitionChange(
                    queues: [QueueChange(name: "mail"), QueueChange(name: "net")],
                    definitions: [
                        Definition(name: "send", kind: "noop", queue: "mail"),
                        Definition(name: "fetch", kind: "noop", queue: "net"),
                    ], graphs: [GraphDefinition(name: "both", nodes: [node])], schedules: [schedule]))
            let job = try await bench.enqueue(bench.job(queue: "mail"))
            var users = QueueUsers(openJobs: 1)
            users.definitions = ["send"]
            users.graphs = ["both"]
            users.schedules = ["often"]
            try expectEqual(try await bench.store.removeQueue("mail", now: bench.now), .used(users))
            try await bench.change(DefinitionChange(removals: ["send", "both"], scheduleRemovals: ["often"]))
            try expectEqual(
                try await bench.store.removeQueue("mail", now: bench.now), .used(QueueUsers(openJobs: 1)))
            try await bench.cancel([job])
            try expectEqual(try await bench.store.removeQueue("mail", now: bench.now), .removed)
            try expectEqual(try await bench.store.counts()[.cancelled], 1)
            // The final job still names its queue, and a new queue of the same name counts it again.
            try expectEqual(try await bench.record(job).queue, "mail")
            try await bench.change(QueueChange(name: "other"))
            try expectEqual(try await bench.record(job).queue, "mail")
            let again = try await bench.change(QueueChange(name: "mail"))
            try expectEqual(again.counts[.cancelled], 1)
        },
        Check("pausingAPausedQueueKeepsTheMoment") { bench in
            let since = bench.now
            _ = try await bench.store.change(QueueChange(name: "default", isPaused: true), now: since)
            bench.advance(.seconds(5))
            let record = try await bench.change(QueueChange(name: "default", isPaused: true))
            try expectEqual(record.pausedAt, since)
        },
        Check("queuesOfADefinitionChangeAreThereForItsJobs") { bench in
            try await bench.change(
                DefinitionChange(
                    queues: [QueueChange(name: "net", limit: 4)],
                    definitions: [Definition(name: "get", kind: "noop", queue: "net")]))
            let job = try await bench.enqueue(bench.job(queue: "net"))
            try expectEqual(try await bench.record(job).queue, "net")
        },
    ]
}
