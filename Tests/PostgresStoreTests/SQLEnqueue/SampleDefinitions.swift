import Jobs

/// Kinds with fields of every shape, definitions and graph definitions of them, usable and not.
enum SampleDefinitions {
    static let kinds = [
        KindDescription(
            name: "fetch", summary: "", inputType: "Fetch.Input", outputType: "Fetch.Output", accepts: "Link",
            offers: "Page",
            fields: [
                InputField(
                    "url", .string, schemes: ["http", "https"], isRequired: true, isFromDependency: true, summary: ""),
                InputField("method", .string, choices: ["GET", "HEAD"], summary: ""),
                InputField("limit", .integer, range: 1...100, summary: ""),
                InputField("at_least", .integer, range: -5...(.max), summary: ""),
                InputField("any", .integer, summary: ""),
                InputField("ratio", .number, summary: ""),
                InputField("deep", .boolean, summary: ""),
                InputField("headers", .object, summary: ""),
                InputField("tags", .array, summary: ""),
                InputField("max_size", .size, range: 1...(1 << 30), summary: ""),
                InputField("timeout", .duration, range: 1000...3_600_000, summary: ""),
                InputField("pause", .duration, summary: ""),
                InputField("note's \"%\\", .string, summary: ""),
            ]),
        KindDescription(
            name: "unfurl", summary: "", inputType: "Unfurl.Input", outputType: "Unfurl.Output", accepts: nil,
            offers: "Link", fields: [InputField("url", .string, schemes: ["https"], isRequired: true, summary: "")]),
        KindDescription(
            name: "merge", summary: "", inputType: "Merge.Input", outputType: "Merge.Output", accepts: "[Page]",
            offers: "Merge.Output",
            fields: [
                InputField("pages", .array, isRequired: true, isFromDependency: true, summary: ""),
                InputField("title", .string, isRequired: true, summary: ""),
            ]),
        KindDescription(
            name: "log", summary: "", inputType: "Log.Input", outputType: "Log.Output", accepts: "AnyOutput",
            offers: "Log.Output",
            fields: [InputField("what", .string, isRequired: true, isFromDependency: true, summary: "")]),
        KindDescription(
            name: "same", summary: "", inputType: "Same", outputType: "Same", accepts: "Same", offers: "Same",
            fields: [InputField("value", .integer, isRequired: true, summary: "")]),
        KindDescription(
            name: "program", summary: "", inputType: "Program.Input", outputType: "Program.Output",
            accepts: "[AnyOutput]",
            offers: "Program.Output", fields: []),
        KindDescription(
            name: "noop", summary: "", inputType: "Any", outputType: "Any", accepts: nil, offers: "Any", fields: []),
    ]

    private static func definition(
        _ name: String, _ kind: String, queue: String = "default", priority: Priority = .normal, input: String = "{}"
    ) -> Definition {
        Definition(name: name, kind: kind, queue: queue, priority: priority, input: json(input))
    }

    private static func program(_ text: String) -> ProgramDefinition {
        do throws(ShapeProblem) {
            return try ProgramDefinition(json: json(text), at: [])
        } catch {
            preconditionFailure("the sample is invalid: \(error)")
        }
    }

    private typealias Node = GraphDefinition.Node

    static let change = DefinitionChange(
        queues: [QueueChange(name: "net"), QueueChange(name: "mail", isPaused: true)],
        definitions: [
            definition("fetch", "fetch"),
            definition("fetch-slow", "fetch", queue: "net", priority: .low, input: #"{"limit":5,"method":"GET"}"#),
            definition("fetch-home", "fetch", input: #"{"url":"https://example.org/"}"#),
            definition("unfurl", "unfurl", priority: .veryHigh), definition("merge", "merge"),
            definition("log", "log", queue: "mail"), definition("same", "same"), definition("noop", "noop"),
            definition("broken", "gone"),
            Definition(
                name: "convert", kind: "program",
                program: program(
                    #"{"program":["/usr/bin/convert","{file}","{width}"],"fields":{"file":{"type":"string","required":true},"width":{"type":"integer","default":3}}}"#
                )),
            Definition(
                name: "tag", kind: "program", input: json(#"{"name":"x"}"#),
                program: program(
                    #"{"program":["/usr/bin/tag","{name}","{level}","--to={to}","{tags}","--","{rest}"],"fields":{"name":{"type":"string"},"level":{"type":"integer","default":3},"to":{"type":"string"},"tags":{"type":"strings","required":true},"rest":{"type":"strings"}}}"#
                )),
            Definition(name: "free", kind: "program", program: program(#"{"program":["/usr/bin/true"]}"#)),
        ],
        graphs: [
            GraphDefinition(
                name: "save", summary: "",
                nodes: [
                    Node(name: "unfurl", definition: "unfurl"),
                    Node(
                        name: "fetch", definition: "fetch-slow", after: [.init(node: "unfurl")],
                        input: json(#"{"limit": 7.0, "tags":["a"],"ratio":1e3}"#), priority: .high),
                    Node(
                        name: "report", definition: "log",
                        after: [
                            .init(node: "unfurl", condition: .finished), .init(node: "fetch", condition: .finished),
                        ],
                        queue: "net"),
                ],
                parameters: [
                    .init(name: "url", node: "unfurl", field: "url"),
                    .init(name: "limit", node: "fetch", field: "limit"),
                ]),
            // The last node comes first, and two have no dependencies.
            GraphDefinition(
                name: "join",
                nodes: [
                    Node(
                        name: "all", definition: "merge",
                        after: [.init(node: "a"), .init(node: "b", condition: .finished)],
                        input: json(#"{"title":"x"}"#)),
                    Node(name: "a", definition: "fetch-home"), Node(name: "b", definition: "fetch"),
                    Node(name: "end", definition: "noop", after: [.init(node: "all")]),
                ]),
            // Only a caller can supply the title.
            GraphDefinition(
                name: "titled",
                nodes: [
                    Node(name: "page", definition: "fetch-home"),
                    Node(name: "merge", definition: "merge", after: [.init(node: "page")]),
                ], parameters: [.init(name: "title", node: "merge", field: "title")]),
            GraphDefinition(
                name: "unfit",
                nodes: [
                    Node(name: "first", definition: "noop"),
                    Node(name: "second", definition: "fetch", after: [.init(node: "first")]),
                ], parameters: [.init(name: "url", node: "second", field: "url")]),
            GraphDefinition(
                name: "tagged",
                nodes: [
                    Node(name: "tag", definition: "tag", input: json(#"{"tags":["a"]}"#)),
                    Node(name: "end", definition: "noop", after: [.init(node: "tag")]),
                ], parameters: [.init(name: "name", node: "tag", field: "name")]),
            GraphDefinition(name: "refused", nodes: [Node(name: "x", definition: "broken")]),
        ])
}
