import Jobs
import Testing

/// Arguments of definitions of programs, whose fields the definition declares.
@Suite struct ProgramArgumentTests {
    private static let catalog: Catalog = {
        func definition(_ text: String) -> Definition {
            do {
                return try Definition(json: Fixtures.json(text))
            } catch {
                preconditionFailure("\(error)")
            }
        }
        let program = KindDescription(
            name: "program", summary: "", inputType: "", outputType: "", accepts: nil, offers: "", fields: [])
        let definitions = [
            definition(
                #"{"name":"merge","kind":"program","program":["/bin/a","{to}","{files}"],"fields":{"to":{"required":true},"files":{"type":"strings","required":true}}}"#
            ),
            definition(
                #"{"name":"make","kind":"program","program":["/bin/a","{what}"],"fields":{"what":{"required":true,"summary":"The target."},"mode":{}}}"#
            ),
            definition(
                #"{"name":"preset","kind":"program","program":["/bin/a","{what}"],"fields":{"what":{"required":true}},"input":{"what":"all"}}"#
            ),
        ]
        let graphs = [
            GraphDefinition(
                name: "pair", summary: nil,
                nodes: [
                    .init(name: "m", definition: "make"), .init(name: "p", definition: "preset"),
                    .init(name: "n", definition: "make", input: Fixtures.json(#"{"what":"x"}"#)),
                ], parameters: []),
            GraphDefinition(
                name: "lists", summary: nil,
                nodes: [.init(name: "m", definition: "make"), .init(name: "all", definition: "merge")],
                parameters: [.init(name: "names", node: "all", field: "files")]),
        ]
        return Catalog(
            DefinitionSet(
                kinds: Fixtures.kinds + [program], queues: [QueueSettings(name: "default")],
                definitions: Fixtures.stored(definitions), graphs: graphs.map(Fixtures.stored)))
    }()

    private func input(
        _ name: String, _ arguments: [String] = [], _ sets: [(name: String, value: String)] = [], base: String? = nil
    ) throws(RequestProblem) -> String? {
        try Self.catalog.input(for: name, arguments: arguments, sets: sets, base: base.map(Fixtures.json))?.string
    }

    @Test func aLastListTakesTheRemainingArguments() throws {
        #expect(Self.catalog.problems.isEmpty)
        #expect(try input("merge", ["o", "a.txt", "b.txt"]) == #"{"to":"o","files":["a.txt","b.txt"]}"#)
        #expect(try input("merge", ["o"]) == #"{"to":"o"}"#)
        #expect(try input("merge", ["o", #"["a","b"]"#, "c", "[1]"]) == #"{"to":"o","files":["a","b","c","[1]"]}"#)
        #expect(try input("lists", ["a", "b"]) == #"{"names":["a","b"]}"#)
    }

    @Test func aRepeatedAssignmentAppendsToAList() throws {
        #expect(
            try input("merge", ["o"], [("files", "a"), ("files", #"["b"]"#), ("files", "c")])
                == #"{"to":"o","files":["a","b","c"]}"#)
        #expect(try input("lists", [], [("all.files", "a"), ("all.files", "b")]) == #"{"all.files":["a","b"]}"#)
    }

    @Test func otherRepetitionsAreRefused() {
        #expect(throws: RequestProblem.givenTwice("to")) { try input("merge", ["o"], [("to", "p")]) }
        #expect(throws: RequestProblem.givenTwice("files")) {
            try input("merge", [], [("files", "a")], base: #"{"files":["b"]}"#)
        }
        #expect(throws: RequestProblem.tooManyArguments(given: 3, takes: ["what", "mode"])) {
            try input("make", ["a", "b", "c"])
        }
    }

    @Test func aListIsNotCalledAnArray() {
        let submission = Submission(.definition("merge"), input: Fixtures.json(#"{"to":"o","files":"a"}"#))
        let problem = #expect(throws: RequestProblem.self) { try Self.catalog.plan(submission, kindsOfJobs: [:]) }
        #expect(problem?.description == #"the field "files" must be a list of strings, found a string"#)
    }

    @Test func theUsageNamesWhatIsNeeded() {
        #expect(Self.catalog.usage(of: "make") == ["WHAT"])
        #expect(Self.catalog.usage(of: "merge") == ["TO", "FILES…"])
        #expect(Self.catalog.usage(of: "preset") == [])
        #expect(Self.catalog.usage(of: "pair") == ["m.what=VALUE"])
        #expect(Self.catalog.usage(of: "lists") == ["NAMES…", "m.what=VALUE", "all.to=VALUE"])
        let needed = Self.catalog.neededFields(ofGraph: "pair")
        #expect(needed.map { "\($0.node).\($0.field) \($0.type) \($0.summary)" } == ["m.what string The target."])
        // The output of a dependency supplies the field.
        #expect(Fixtures.catalog.usage(of: "chain") == ["Q", "TO"])
    }
}
