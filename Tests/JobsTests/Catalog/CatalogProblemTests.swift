import Jobs
import OperationTypes
import Testing

/// What is stored is checked at load: a bad one is refused by name, the others go on.
@Suite struct CatalogProblemTests {
    private func problems(_ definition: Definition) -> [String] {
        Catalog(
            DefinitionSet(
                kinds: Fixtures.kinds, queues: [QueueSettings(name: "slow")],
                definitions: Fixtures.stored([definition]))
        ).problems.map(\.description)
    }

    @Test func definitionThatCannotBeUsedIsRefusedByNameAndTheOthersGoOn() {
        let catalog = Fixtures.catalog
        #expect(catalog.names == ["chain", "collect", "echo", "fetch", "find", "raw", "store"])
        #expect(
            catalog.problems.map(\.description) == [
                #"definition "broken": unknown kind "fetsch"; did you mean "fetch"?"#
            ])
        #expect(catalog.problemsByName == ["broken": #"unknown kind "fetsch"; did you mean "fetch"?"#])
    }

    @Test func everyProblemOfADefinitionIsTold() {
        let bad = Definition(
            name: "Bad!", kind: "fetch", queue: "slwo", retry: RetryPolicy(tries: 0), timeout: .zero,
            input: Fixtures.json(
                #"{"ulr":"x","limit":1.5,"ratio":"a","deep":0,"headers":[],"tags":{},"method":"PUT","url":7}"#))
        #expect(
            problems(bad) == [
                #"definition "Bad!": the name is not allowed; use a-z, 0-9, ".", "_" and "-", beginning with a letter or a digit, at most 64 bytes"#,
                #"definition "Bad!": unknown queue "slwo"; did you mean "slow"?"#,
                #"definition "Bad!": retry.tries: expected 1 to 1000, found 0"#,
                #"definition "Bad!": timeout: expected 1ms to 365d, found 0s; remove it for no limit"#,
                #"definition "Bad!": input: unknown field "ulr"; did you mean "url"?"#,
                #"definition "Bad!": input: the field "limit" must be a whole number, found another kind of number"#,
                #"definition "Bad!": input: the field "ratio" must be a number, found a string"#,
                #"definition "Bad!": input: the field "deep" must be true or false, found a number"#,
                #"definition "Bad!": input: the field "headers" must be an object, found an array"#,
                #"definition "Bad!": input: the field "tags" must be an array, found an object"#,
                #"definition "Bad!": input: the field "method" must be one of GET, HEAD"#,
                #"definition "Bad!": input: the field "url" must be a string, found a number"#,
            ])
    }

    @Test func whatIsFarFromEveryNameGetsTheList() {
        #expect(
            problems(Definition(name: "a", kind: "downloading")) == [
                #"definition "a": unknown kind "downloading"; the kinds are collect, echo, fetch, find, raw, store; no worker runs it now, see halyard workers"#
            ])
        #expect(
            problems(Definition(name: "a", kind: "find", queue: "elsewhere")) == [
                #"definition "a": unknown queue "elsewhere"; the queues are default, slow; add it under "queues""#
            ])
        #expect(
            problems(Definition(name: "a", kind: "find", input: Fixtures.json(#"{"limit":1}"#))) == [
                #"definition "a": input: unknown field "limit"; the fields are query"#
            ])
    }

    @Test(arguments: ["", "a b", "-a", ".a", "A", "ä", "a/b", String(repeating: "a", count: 65)])
    func badNameIsRefused(name: String) {
        #expect(problems(Definition(name: name, kind: "find")).count == 1)
    }

    @Test(arguments: ["a", "0", "save-link", "a.b_c-9", String(repeating: "a", count: 64)])
    func goodNameIsTaken(name: String) {
        #expect(problems(Definition(name: name, kind: "find")) == [])
    }

    @Test func nullCountsAsAbsentAndAnyInputSuitsAKindWithoutFields() {
        #expect(problems(Definition(name: "a", kind: "fetch", input: Fixtures.json(#"{"limit":null}"#))) == [])
        #expect(problems(Definition(name: "a", kind: "raw", input: Fixtures.json(#"{"x":[1]}"#))) == [])
        #expect(problems(Definition(name: "a", kind: "fetch", input: Fixtures.json(#"{"limit":2.0}"#))) == [])
    }

    // MARK: Graph definitions

    private typealias Node = GraphDefinition.Node

    private func problems(_ nodes: [Node], _ parameters: [GraphDefinition.Parameter] = []) -> [String] {
        var set = Fixtures.definitions
        set.graphs.append(Fixtures.stored(GraphDefinition(name: "g", nodes: nodes, parameters: parameters)))
        return Catalog(set).problems.map(\.description).filter { $0.hasPrefix("graph") }
    }

    private func edges(_ nodes: String...) -> [GraphDefinition.Edge] { nodes.map { .init(node: $0) } }

    @Test func goodGraphHasNoProblem() {
        #expect(problems(Fixtures.chain.nodes, Fixtures.chain.parameters) == [])
    }

    @Test func nodeThatRunsNothingUsableIsRefused() {
        #expect(
            problems([
                Node(name: "a", definition: "fnd"), Node(name: "b", definition: "broken"),
                Node(name: "c", definition: "chain"), Node(name: "d", definition: "find", queue: "slwo"),
                Node(name: "e", definition: "find", input: Fixtures.json(#"{"qery":"x"}"#)),
            ]) == [
                #"graph "g": node "a": unknown definition "fnd"; did you mean "find"?"#,
                #"graph "g": node "b": it runs "broken", which is refused; correct that definition first"#,
                #"graph "g": node "c": "chain" is a graph; a node runs a definition"#,
                #"graph "g": node "d": unknown queue "slwo"; did you mean "slow"?"#,
                #"graph "g": node "e": input: unknown field "qery"; did you mean "query"?"#,
            ])
    }

    @Test func graphWithoutNodesIsRefused() {
        #expect(problems([]) == [#"graph "g": it has no nodes; add at least one"#])
    }

    @Test func badEdgesAreRefused() {
        #expect(
            problems([
                Node(name: "first", definition: "find"), Node(name: "first", definition: "find"),
                Node(name: "2nd", definition: "find", after: edges("frist", "elsewhere")),
                Node(name: "third", definition: "find", after: edges("first", "first")),
            ]) == [
                #"graph "g": two nodes are named "first"; rename one"#,
                #"graph "g": the node name "2nd" is not allowed; use letters, digits, "_" and "-", beginning with a letter, at most 64 bytes"#,
                #"graph "g": node "2nd": unknown node "frist"; did you mean "first"?"#,
                #"graph "g": node "2nd": unknown node "elsewhere"; the nodes are 2nd, first, first, third"#,
                #"graph "g": node "third" depends on node "first" twice; keep one of the two"#,
            ])
    }

    @Test func cycleIsNamedByItsPath() {
        #expect(
            problems([
                Node(name: "free", definition: "find"), Node(name: "a", definition: "find", after: edges("free", "c")),
                Node(name: "b", definition: "find", after: edges("a")),
                Node(name: "c", definition: "find", after: edges("b")),
            ]) == [#"graph "g": the dependencies form a cycle: a → b → c → a; remove one of these edges"#])
        #expect(
            problems([Node(name: "a", definition: "find", after: edges("a"))]) == [
                #"graph "g": the dependencies form a cycle: a → a; remove one of these edges"#
            ])
    }

    @Test func edgeThatDoesNotFitIsRefusedWithBothTypes() {
        #expect(
            problems([
                Node(name: "store", definition: "store"),
                Node(name: "page", definition: "fetch", after: edges("store")),
            ]) == [
                #"graph "g": node "page" is missing the field "url" and accepts Link, but node "store" offers Receipt; set the field, or add a dependency that offers Link"#
            ])
        #expect(
            problems([
                Node(name: "find", definition: "find"), Node(name: "all", definition: "collect", after: edges("find")),
            ]) == [
                #"graph "g": node "all" is missing the field "pages" and accepts [Page], but node "find" offers Link; set the field, or add a dependency that offers [Page]"#
            ])
    }

    @Test func edgeNeedNotFitWhereTheFieldIsThere() {
        let store = Node(name: "store", definition: "store")
        let after = edges("store")
        #expect(
            problems([store, Node(name: "p", definition: "fetch", after: after, input: Fixtures.json(#"{"url":"x"}"#))])
                == [])
        // A parameter gives it.
        #expect(
            problems(
                [store, Node(name: "p", definition: "fetch", after: after)], [.init(name: "u", node: "p", field: "url")]
            )
                == [])
        // One that fits is enough, and an order needs no type.
        #expect(
            problems([
                store, Node(name: "f", definition: "find"),
                Node(name: "p", definition: "fetch", after: edges("store", "f")),
            ])
                == [])
        #expect(problems([store, Node(name: "f", definition: "find", after: after)]) == [])
        // Whatever is given is accepted; a list takes each; a whole input takes its own type.
        #expect(problems([store, Node(name: "s", definition: "store", after: after)]) == [])
        #expect(
            problems([Node(name: "p", definition: "fetch"), Node(name: "c", definition: "collect", after: edges("p"))])
                == [])
        #expect(problems([store, Node(name: "e", definition: "echo", after: after)]) == [])
    }

    @Test func badParametersAreRefused() {
        let nodes = [Node(name: "find", definition: "find")]
        #expect(
            problems(
                nodes,
                [
                    .init(name: "a.b", node: "find", field: "query"), .init(name: "x", node: "fnd", field: "query"),
                    .init(name: "x", node: "find", field: "qery"), .init(name: "y", node: "find", field: "query"),
                ]) == [
                    #"graph "g": parameter "a.b": the name is not allowed; use letters, digits, "_" and "-", beginning with a letter, at most 64 bytes"#,
                    #"graph "g": parameter "x": unknown node "fnd"; did you mean "find"?"#,
                    #"graph "g": parameter "x": the name is used twice; rename one of them"#,
                    #"graph "g": parameter "x": unknown field "find.qery"; did you mean "find.query"?"#,
                    #"graph "g": parameter "y": it sets the same field as "a.b"; remove one of them"#,
                ])
    }
}
