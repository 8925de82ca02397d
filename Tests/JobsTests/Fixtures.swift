import Jobs
import OperationTypes

/// Kinds and definitions that the tests of definitions and plans share.
enum Fixtures {
    static let fetch = KindDescription(
        name: "fetch", summary: "", inputType: "Fetch.Input", outputType: "Page", accepts: "Link", offers: "Page",
        fields: [
            InputField("url", .string, isRequired: true, isFromDependency: true, summary: ""),
            InputField("method", .string, choices: ["GET", "HEAD"], summary: ""),
            InputField("limit", .integer, summary: ""), InputField("ratio", .number, summary: ""),
            InputField("deep", .boolean, summary: ""), InputField("headers", .object, summary: ""),
            InputField("tags", .array, summary: ""),
        ])
    static let find = KindDescription(
        name: "find", summary: "", inputType: "Find.Input", outputType: "Find.Output", accepts: nil, offers: "Link",
        fields: [InputField("query", .string, isRequired: true, summary: "")])
    static let store = KindDescription(
        name: "store", summary: "", inputType: "Store.Input", outputType: "Receipt", accepts: "AnyOutput",
        offers: "Receipt",
        fields: [
            InputField("to", .string, isRequired: true, summary: ""),
            InputField("body", .string, isRequired: true, isFromDependency: true, summary: ""),
        ])
    static let collect = KindDescription(
        name: "collect", summary: "", inputType: "Collect.Input", outputType: "Collect.Output", accepts: "[Page]",
        offers: "Collect.Output",
        fields: [InputField("pages", .array, isRequired: true, isFromDependency: true, summary: "")])
    /// Accepts its whole input.
    static let echo = KindDescription(
        name: "echo", summary: "", inputType: "Receipt", outputType: "Receipt", accepts: "Receipt", offers: "Receipt",
        fields: [InputField("bytes", .integer, isRequired: true, summary: "")])
    /// Names no fields, so takes anything.
    static let raw = KindDescription(
        name: "raw", summary: "", inputType: "JSONText", outputType: "JSONText", accepts: nil, offers: "JSONText",
        fields: [])

    static let kinds = [fetch, find, store, collect, echo, raw]

    static func stored(_ definitions: [Definition], from id: Int64 = 1) -> [StoredDefinition] {
        definitions.enumerated().map {
            StoredDefinition(
                id: DefinitionID(id + Int64($0)), revision: 1, definition: $1, updatedAt: Timestamp(milliseconds: 0))
        }
    }

    static func stored(_ graph: GraphDefinition) -> StoredGraphDefinition {
        StoredGraphDefinition(revision: 1, definition: graph, updatedAt: Timestamp(milliseconds: 0))
    }

    static let chain = GraphDefinition(
        name: "chain", summary: "Find, fetch, store",
        nodes: [
            .init(name: "find", definition: "find"),
            .init(name: "fetch", definition: "fetch", after: [.init(node: "find")], input: json(#"{"limit":3}"#)),
            .init(
                name: "store", definition: "store", after: [.init(node: "fetch", condition: .finished)],
                queue: "slow", priority: .low),
        ], parameters: [.init(name: "q", node: "find", field: "query"), .init(name: "to", node: "store", field: "to")])

    /// `fetch` is 1, `find` 2, `store` 3, `collect` 4, `echo` 5, `raw` 6, `broken` 7 (unknown kind).
    static let definitions = DefinitionSet(
        kinds: kinds, queues: [QueueSettings(name: "default"), QueueSettings(name: "slow", limit: 2)],
        definitions: stored([
            Definition(name: "fetch", kind: "fetch", queue: "slow", priority: .high, input: json(#"{"method":"GET"}"#)),
            Definition(name: "find", kind: "find"), Definition(name: "store", kind: "store"),
            Definition(name: "collect", kind: "collect"), Definition(name: "echo", kind: "echo"),
            Definition(name: "raw", kind: "raw"), Definition(name: "broken", kind: "fetsch"),
        ]), graphs: [stored(chain)])

    static let catalog = Catalog(definitions)
    static let now = Timestamp(milliseconds: 1_000_000)

    static func json(_ text: String) -> JSONText { JSONText(trusted: Array(text.utf8)) }
}

/// A small generator whose seed is printed with a failure, so that the failure comes again.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(seed: UInt64 = UInt64.random(in: 1...UInt64.max)) {
        self.seed = seed
        state = seed
    }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
