import Jobs
import OperationTypes
import Testing

@Suite struct DefinitionCodingTests {
    private let full = Definition(
        name: "upload", kind: "store", summary: "Sends \"it\"", queue: "slow", priority: .veryHigh, retry: .never,
        timeout: .seconds(90), input: Fixtures.json(#"{"to":"x","z":1.50,"a":[1,2]}"#))

    @Test func definitionSurvivesItsJSON() throws {
        #expect(try Definition(json: full.json) == full)
        #expect(try Definition(json: Definition(name: "a", kind: "b").json) == Definition(name: "a", kind: "b"))
    }

    @Test func graphDefinitionSurvivesItsJSON() throws {
        #expect(try GraphDefinition(json: Fixtures.chain.json) == Fixtures.chain)
    }

    @Test func mapsOfNodesAndParametersAreReadInOrder() throws {
        let text = #"""
            {"name":"chain","summary":"Find, fetch, store","parameters":{"q":"find.query","to":"store.to"},
             "nodes":{"find":{"definition":"find"},
                      "fetch":{"definition":"fetch","after":["find"],"input":{"limit": 3}},
                      "store":{"definition":"store","after":["fetch:finished"],"queue":"slow","priority":-1}}}
            """#
        #expect(try GraphDefinition(json: Fixtures.json(text)) == Fixtures.chain)
    }

    @Test(arguments: [
        (#"{"kind":"x"}"#, "name: is missing; it is required"),
        (#"{"name":"x"}"#, "kind: is missing; it is required"),
        (#"{"name":"x","kind":null}"#, "kind: is missing; it is required"),
        (#"{"name":"x","kind":1}"#, "kind: expected a string, found 1; put it in quotes"),
        (#"{"name":"x","kind":"x","timout":"1s"}"#, #"timout: unknown field "timout"; did you mean "timeout"?"#),
        (
            #"{"name":"x","kind":"x","timeout":30}"#,
            "timeout: expected a duration such as 250ms, 30s, 5m, 1h30m or 2d, found 30"
        ),
        (
            #"{"name":"x","kind":"x","priority":"urgent"}"#,
            #"priority: expected very_low, low, normal, high or very_high (-2 to 2), found "urgent""#
        ),
        (
            #"{"name":"x","kind":"x","priority":3}"#,
            "priority: expected very_low, low, normal, high or very_high (-2 to 2), found 3"
        ),
        (#"{"name":"x","kind":"x","input":[1]}"#, "input: expected an object, found an array"),
        (#"{"name":"x","kind":"x","retry":{"tries":0}}"#, "retry.tries: expected 1 to 1000, found 0"),
        (#"{"name":"x","kind":"x","retry":5}"#, "retry: expected an object, found a number; write {tries: 5}"),
        (
            #"{"name":"x","kind":"programs","program":["/bin/a"]}"#,
            #"kind: unknown kind "programs"; did you mean "program"?"#
        ),
        (
            #"{"name":"x","kind":"upload","program":["/bin/a"]}"#,
            "program: is allowed only with kind: program; remove it"
        ),
        (
            #"{"name":"x","kind":"program","program":"/opt/x"}"#,
            "program: expected a list, found a string; write [/opt/x]"
        ),
        (
            #"{"name":"x","kind":"program","program":"/opt/x: y"}"#,
            #"program: expected a list, found a string; write ["/opt/x: y"]"#
        ),
        (
            #"{"name":"x","kind":"program","program":{}}"#, "program: expected a list, found an object"
        ),
        (
            #"{"name":"x","kind":"program","program":["/bin/a"],"fields":{"f":"string"}}"#,
            "fields.f: expected an object, found a string; write {type: string}"
        ),
    ])
    func badDefinitionIsRefused(text: String, message: String) {
        let problem = #expect(throws: ShapeProblem.self) { try Definition(json: Fixtures.json(text)) }
        #expect(problem?.description == message)
    }

    @Test(arguments: [
        (#"{"name":"g"}"#, "nodes: is missing; it is required"),
        (#"{"name":"g","nodes":5}"#, "nodes: expected a map with names as keys, or a list, found a number"),
        (#"{"name":"g","nodes":[{"definition":"d"}]}"#, "nodes.0.name: is missing; it is required"),
        (#"{"name":"g","nodes":{"a":{}}}"#, "nodes.a.definition: is missing; it is required"),
        (
            #"{"name":"g","nodes":{"a":{"name":"b","definition":"d"}}}"#,
            #"nodes.a.name: is "b" under the key "a"; remove it"#
        ),
        (
            #"{"name":"g","nodes":{"a":{"definition":"d","after":"b"}}}"#,
            "nodes.a.after: expected a list, found a string; write [b]"
        ),
        (
            #"{"name":"g","nodes":{"a":{"definition":"d","after":[1]}}}"#,
            #"nodes.a.after.0: expected the name of a node, optionally with ":finished" after it, found 1"#
        ),
        (
            #"{"name":"g","nodes":{"a":{"definition":"d","after":["b:finishd"]}}}"#,
            #"nodes.a.after.0: unknown condition "finishd"; did you mean "finished"?"#
        ),
        (
            #"{"name":"g","nodes":{"a":{"definition":"d","affter":[]}}}"#,
            #"nodes.a.affter: unknown field "affter"; did you mean "after"?"#
        ),
        (
            #"{"name":"g","nodes":{},"parameters":{"u":"url"}}"#,
            #"parameters.u: expected node.field, such as unfurl.url, found "url""#
        ),
        (#"{"name":"g","nodes":{},"parameters":[{"name":"u"}]}"#, "parameters.0.field: is missing; it is required"),
    ])
    func badGraphDefinitionIsRefused(text: String, message: String) {
        let problem = #expect(throws: ShapeProblem.self) { try GraphDefinition(json: Fixtures.json(text)) }
        #expect(problem?.description == message)
    }
}
