import Jobs
import OperationTypes
import Testing

/// A change is checked whole before anything is written.
@Suite struct CatalogChangeTests {
    private func problems(_ change: DefinitionChange) -> [String] {
        Fixtures.catalog.check(change).map(\.description)
    }

    @Test func goodChangeHasNoProblemThoughSomethingElseIsBroken() {
        #expect(problems(DefinitionChange()) == [])
        let change = DefinitionChange(
            queues: [QueueChange(name: "new", limit: 1, weight: 1000)],
            definitions: [Definition(name: "other", kind: "find", queue: "new")],
            graphs: [GraphDefinition(name: "g", nodes: [.init(name: "a", definition: "other", queue: "new")])])
        #expect(problems(change) == [])
    }

    @Test func brokenDefinitionCanBeMended() {
        #expect(problems(DefinitionChange(definitions: [Definition(name: "broken", kind: "fetch")])) == [])
        #expect(problems(DefinitionChange(removals: ["broken"])) == [])
        #expect(
            problems(DefinitionChange(definitions: [Definition(name: "broken", kind: "fech")])) == [
                #"definition "broken": unknown kind "fech"; did you mean "fetch"?"#
            ])
    }

    @Test func thereAreAtMostAThousandSchedules() {
        let schedules = (0...Schedule.maxCount).map { Schedule(name: "s\($0)", calendar: [], definition: "fetch") }
        let refusals = problems(DefinitionChange(schedules: schedules)).filter { $0.contains("the maximum") }
        #expect(
            refusals == [
                #"schedule "s1000": there are already 1000 schedules, the maximum; remove or change one"#
            ])
    }

    @Test func onlyAScheduleThatHasNoTimeAtAllIsRefused() throws {
        func made(_ calendar: String) throws -> Schedule {
            let text = #"{"name":"s","calendar":[\#(calendar)],"definition":"find","input":{"query":"x"}}"#
            return try Schedule(json: Fixtures.json(text), at: [])
        }
        #expect(
            problems(DefinitionChange(schedules: [try made(#""*-02-30 UTC""#)])) == [
                #"schedule "s": calendar: no such day exists; write a day that exists"#
            ])
        // A backup with one whose last time has come can be restored.
        #expect(problems(DefinitionChange(schedules: [try made(#""2020-01-01 UTC""#)])) == [])
        #expect(problems(DefinitionChange(schedules: [try made(#""*-02-30 UTC","2020-01-01 UTC""#)])) == [])
    }

    @Test func aScheduleIsLookedAtAgainWhereWhatItEnqueuesChanges() throws {
        let schedules = try [("nightly", "chain"), ("lost", "nothing")].map { name, definition in
            let text =
                #"{"name":"\#(name)","calendar":"daily UTC","definition":"\#(definition)","input":{"q":"x","to":"y"}}"#
            return try Schedule(json: Fixtures.json(text), at: [])
        }
        let catalog = Catalog(Fixtures.definitions.applying(DefinitionChange(schedules: schedules)))
        #expect(catalog.scheduleProblems.map(\.subject) == [.schedule("lost")])
        #expect(catalog.check(DefinitionChange(definitions: [Definition(name: "raw", kind: "raw")])) == [])
        var chain = Fixtures.chain
        chain.parameters[0].name = "query"
        let problems = catalog.check(DefinitionChange(graphs: [chain])).map(\.description)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix(#"schedule "nightly": unknown parameter "q""#) == true, "\(problems)")
    }

    @Test func everythingThatIsWrongWithAScheduleIsTold() throws {
        func told(_ text: String) throws -> [String] {
            problems(DefinitionChange(schedules: [try Schedule(json: Fixtures.json(text), at: [])]))
        }
        let lone = try told(
            #"{"name":"s","calendar":"daily UTC","definition":"find","input":{"quary":"x","query":7},"queue":"none"}"#)
        #expect(lone.count == 3, "\(lone)")
        #expect(
            lone[0].contains("unknown queue \"none\"") && lone[1].contains("quary") && lone[2].contains("\"query\""))
        let graph = try told(
            #"{"name":"s","calendar":"daily UTC","definition":"chain","input":{"a":1,"b":2,"to":"y"}}"#)
        #expect(graph.count == 2, "\(graph)")
        #expect(graph[0].contains("unknown parameter \"a\"") && graph[1].contains("unknown parameter \"b\""))
        let many = (1...20_000).map { "\"a\($0)\":1" }.joined(separator: ",")
        let first = try told(#"{"name":"s","calendar":"daily UTC","definition":"chain","input":{\#(many),"to":"y"}}"#)
        #expect(first.count == 20 && first[0].contains("unknown parameter \"a1\""))
        let lost = try told(#"{"name":"s","calendar":"daily UTC","definition":"fimd","queue":"none"}"#)
        #expect(lost.count == 2, "\(lost)")
    }

    /// What was checked before is kept only while it would be found good again.
    @Test func aCatalogAfterAnotherIsAsOneOfItsOwn() {
        let queue = DefinitionChange(
            queues: [QueueChange(name: "fast")], definitions: [Definition(name: "quick", kind: "raw", queue: "fast")])
        var sets = [Fixtures.definitions, Fixtures.definitions.applying(queue)]
        var without = sets[1]
        without.queues.removeAll { $0.name == "fast" }
        sets.append(without)
        var otherKinds = sets[1]
        otherKinds.kinds.removeAll { $0.name == "raw" }
        sets.append(otherKinds)
        sets.append(sets[1].applying(DefinitionChange(definitions: [Definition(name: "quick", kind: "rwa")])))
        for earlier in sets {
            for set in sets {
                let fresh = Catalog(set)
                let kept = Catalog(set, after: Catalog(earlier))
                #expect(kept.problems == fresh.problems)
                #expect(kept.names == fresh.names)
            }
        }
    }

    @Test func definitionsAndTheirSizeAreBounded() {
        let many = (0..<DefinitionSet.maxCount).map { Definition(name: "d\($0)", kind: "raw") }
        let refusals = problems(DefinitionChange(definitions: many))
        #expect(refusals.count == 1)
        #expect(refusals.first?.contains("the limit is 10000") == true, "\(refusals)")
        let text = String(repeating: "x", count: DefinitionSet.maxBytes)
        let heavy = Definition(name: "heavy", kind: "raw", input: Fixtures.json(#"{"x":"\#(text)"}"#))
        let change = DefinitionChange(definitions: [Definition(name: "light", kind: "raw"), heavy])
        let tooLarge = problems(change)
        #expect(tooLarge.count == 1)
        #expect(tooLarge.first?.hasPrefix(#"definition "heavy": with it all definitions"#) == true, "\(tooLarge)")
        // What is there stays, and may become smaller.
        let full = Catalog(Fixtures.definitions.applying(change))
        let smaller = DefinitionChange(definitions: [Definition(name: "light", kind: "raw")])
        #expect(full.check(smaller) == [])
        #expect(full.check(DefinitionChange(definitions: [Definition(name: "more", kind: "raw")])).count == 1)
    }

    @Test func badQueueIsRefused() {
        #expect(
            problems(
                DefinitionChange(queues: [
                    QueueChange(name: "Bad Name"), QueueChange(name: "a", limit: 0),
                    QueueChange(name: "a", weight: 1001),
                    QueueChange(name: "b", limit: 10_001), QueueChange(name: "c", limitPerDaemon: .atMost(0)),
                    QueueChange(name: "d", limitPerDaemon: .unlimited),
                ])) == [
                    #"queue "Bad Name": the name is not allowed; use a-z, 0-9, ".", "_" and "-", beginning with a letter or a digit, at most 64 bytes"#,
                    #"queue "a": limit: expected 1 to 10000, found 0"#,
                    #"queue "a": the name is used twice; definitions and graphs share one namespace, so rename one of them"#,
                    #"queue "a": weight: expected 1 to 1000, found 1001"#,
                    #"queue "b": limit: expected 1 to 10000, found 10001"#,
                    #"queue "c": limit_per_daemon: expected 1 to 10000, found 0; write none for no limit"#,
                ])
    }

    @Test func nameUsedTwiceIsRefused() {
        let message = "the name is used twice; definitions and graphs share one namespace, so rename one of them"
        let find = Definition(name: "x", kind: "find")
        let graph = GraphDefinition(name: "x", nodes: [.init(name: "a", definition: "find")])
        #expect(problems(DefinitionChange(definitions: [find, find])) == [#"definition "x": \#(message)"#])
        #expect(problems(DefinitionChange(graphs: [graph, graph])) == [#"graph "x": \#(message)"#])
        #expect(problems(DefinitionChange(definitions: [find], graphs: [graph])) == [#"graph "x": \#(message)"#])
        #expect(
            problems(DefinitionChange(definitions: [Definition(name: "chain", kind: "find")])) == [
                #"definition "chain": \#(message)"#
            ])
        #expect(
            problems(DefinitionChange(graphs: [GraphDefinition(name: "raw", nodes: graph.nodes)])) == [
                #"graph "raw": \#(message)"#
            ])
        // What is removed in the same change makes room.
        #expect(
            problems(DefinitionChange(definitions: [Definition(name: "chain", kind: "find")], removals: ["chain"]))
                == [])
    }

    @Test func whatAGraphNeedsCannotBeTakenAway() {
        #expect(
            problems(DefinitionChange(removals: ["store"])) == [
                #"graph "chain": node "store": it runs "store", which is being removed; remove this graph too"#
            ])
        #expect(problems(DefinitionChange(removals: ["store", "chain"])) == [])
        // Another kind under the same name no longer fits.
        #expect(
            problems(DefinitionChange(definitions: [Definition(name: "find", kind: "raw")])) == [
                #"graph "chain": parameter "q": unknown field "find.query""#,
                #"graph "chain": node "fetch" is missing the field "url" and accepts Link, but node "find" offers JSONText; set the field, or add a dependency that offers Link"#,
            ])
    }

    @Test func onlyWhatIsThereCanBeRemoved() {
        #expect(
            problems(DefinitionChange(removals: ["chian"])) == [
                #"definition "chian": there is no definition or graph of that name to remove; there are broken, chain, collect, echo, fetch, find, raw, store"#
            ])
    }

    @Test func changeIsLaidOverWhatIsThere() {
        let change = DefinitionChange(
            queues: [QueueChange(name: "slow", weight: 7), QueueChange(name: "new")],
            definitions: [Definition(name: "find", kind: "find", queue: "slow"), Definition(name: "raw", kind: "raw")],
            removals: ["chain", "broken"])
        let set = Fixtures.definitions.applying(change)
        #expect(set.queues.map(\.name) == ["default", "new", "slow"])
        #expect(set.queues.last == QueueSettings(name: "slow", limit: 2, weight: 7))
        #expect(set.definitions.map(\.definition.name) == ["collect", "echo", "fetch", "find", "raw", "store"])
        #expect(set.definitions.map(\.revision) == [1, 1, 1, 2, 1, 1])
        #expect(set.graphs == [])
    }
}
