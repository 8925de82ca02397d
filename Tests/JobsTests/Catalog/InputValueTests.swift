import Jobs
import OperationTypes
import Testing

/// What no job could use is refused before there is one.
@Suite struct InputValueTests {
    private static let kind = KindDescription(
        name: "ask", summary: "", inputType: "Ask.Input", outputType: "Page", accepts: "Link", offers: "Page",
        fields: [
            InputField(
                "url", .string, schemes: ["http", "https"], isRequired: true, isFromDependency: true, summary: ""),
            InputField("limit", .integer, range: 0...50, summary: ""),
            InputField("wait_ms", .integer, range: 1...Int64.max, summary: ""),
            InputField("max_size", .size, range: 1...(2 << 20), summary: ""),
            InputField("wait", .duration, range: 100...Int64.max, summary: ""),
        ])

    private func catalog(_ input: String, node: String? = nil) -> Catalog {
        let graph = GraphDefinition(
            name: "g", nodes: [.init(name: "a", definition: "ask", input: node.map { Fixtures.json($0) })])
        return Catalog(
            DefinitionSet(
                kinds: [Self.kind],
                definitions: Fixtures.stored([Definition(name: "ask", kind: "ask", input: Fixtures.json(input))]),
                graphs: [Fixtures.stored(graph)]))
    }

    @Test(arguments: [
        (#"{"limit":51}"#, #"the field "limit" must be from 0 to 50, found 51"#),
        (#"{"limit":-1.0}"#, #"the field "limit" must be from 0 to 50, found -1"#),
        (#"{"wait_ms":0}"#, #"the field "wait_ms" must be at least 1, found 0"#),
        (
            #"{"max_size":"5MB"}"#,
            #"the field "max_size" is "5MB"; write a number with a unit (B, KiB, MiB, GiB, TiB) from 1B to 2MiB"#
        ),
        (
            #"{"max_size":0}"#,
            #"the field "max_size" is "0"; write a number with a unit (B, KiB, MiB, GiB, TiB) from 1B to 2MiB"#
        ),
        (#"{"max_size":1.5}"#, #"the field "max_size" must be a size such as 100KiB, found a number"#),
        (
            #"{"wait":"99ms"}"#,
            #"the field "wait" is "99ms"; write a number with a unit (ms, s, m, h, d) of at least 100ms"#
        ),
        (
            #"{"wait":"\u001b[2J\#(String(repeating: "9", count: 900))"}"#,
            #"the field "wait" is "\#u{FFFD}[2J\#(String(repeating: "9", count: 36))…"; write a number with a unit "#
                + "(ms, s, m, h, d) of at least 100ms"
        ),
        (#"{"wait":5}"#, #"the field "wait" must be a duration such as 30s, found a number"#),
        (#"{"url":"example.org"}"#, #"the field "url" must be an address that begins with http:// or https://"#),
        (#"{"url":"ftp://h/"}"#, #"the field "url" must be an address that begins with http:// or https://"#),
        (#"{"url":"http://"}"#, #"the field "url" must be an address that begins with http:// or https://"#),
        (#"{"url":""}"#, #"the field "url" must be an address that begins with http:// or https://"#),
    ])
    func aBadValueIsRefusedWhereverItIsGiven(input: String, message: String) {
        #expect(catalog(input).problems.first?.description == "definition \"ask\": input: \(message)")
        #expect(
            catalog("{}", node: input).problems.map(\.description) == ["graph \"g\": node \"a\": input: \(message)"])
        let submission = Submission(.definition("ask"), input: Fixtures.json(input))
        let refusal = #expect(throws: RequestProblem.self) {
            try catalog(#"{"url":"http://h/","limit":1,"wait_ms":1}"#).plan(submission)
        }
        #expect(refusal?.description == message)
    }

    @Test(arguments: [
        "{}", #"{"limit":0}"#, #"{"limit":50,"wait_ms":9223372036854775807}"#, #"{"limit":null,"url":null}"#,
        #"{"max_size":"2MiB","wait":"1h30m"}"#, #"{"max_size":2097152}"#,
        #"{"url":" HTTPS:\\h/a b "}"#, #"{"url":"http:h"}"#,
    ])
    func aValueThatAJobCouldUseIsTaken(input: String) {
        #expect(catalog(input, node: input).problems == [])
    }
}
