import Definitions
import Jobs
import OperationTypes
import Testing

@Suite struct ExportTests {
    private func stored(_ definition: Definition) -> StoredDefinition {
        StoredDefinition(
            id: DefinitionID(1), revision: 1, definition: definition, updatedAt: Timestamp(milliseconds: 0))
    }

    private func stored(_ graph: GraphDefinition) -> StoredGraphDefinition {
        StoredGraphDefinition(revision: 1, definition: graph, updatedAt: Timestamp(milliseconds: 0))
    }

    @Test func documentReadsWell() {
        let set = DefinitionSet(
            queues: [
                QueueSettings(name: "slow", limit: 2, limitPerDaemon: 1, weight: 3), QueueSettings(name: "default"),
            ],
            definitions: [
                stored(
                    Definition(
                        name: "fetch", kind: "fetch", summary: "Reads: a page", queue: "slow", priority: .high,
                        timeout: .seconds(90),
                        input: JSONText(trusted: Array(#"{"method":"GET","headers":{"a b":"no"},"n":[1,2.50]}"#.utf8)))),
                stored(Definition(name: "a", kind: "k", retry: .never)),
            ],
            graphs: [
                stored(
                    GraphDefinition(
                        name: "g", summary: "Both",
                        nodes: [
                            .init(name: "first", definition: "fetch"),
                            .init(
                                name: "second", definition: "a",
                                after: [.init(node: "first", condition: .finished), .init(node: "zero")],
                                input: JSONText(trusted: Array(#"{"to":"https://example.org/?x"}"#.utf8)),
                                queue: "slow", priority: .low),
                        ], parameters: [.init(name: "url", node: "first", field: "url")]))
            ])
        #expect(
            DefinitionDocument.export(set) == """
                queues:
                  default: {limit: 16, weight: 1}
                  slow: {limit: 2, limit_per_daemon: 1, weight: 3}

                definitions:
                  a:
                    kind: k
                    queue: default
                    retry: {tries: 1, delay: none, jitter: none, on: retryable}
                  fetch:
                    kind: fetch
                    summary: "Reads: a page"
                    queue: slow
                    priority: high
                    timeout: 1m30s
                    retry: {tries: 5, delay: exponential, initial: 1s, multiplier: 2, cap: 5m, jitter: full, on: retryable}
                    input:
                      method: GET
                      headers: {a b: "no"}
                      n: [1, 2.50]

                graphs:
                  g:
                    summary: Both
                    parameters: {url: first.url}
                    nodes:
                      first: {definition: fetch}
                      second: {definition: a, after: [first:finished, zero], queue: slow, priority: low, input: {to: "https://example.org/?x"}}

                """)
    }

    @Test func nothingAtAllIsADocumentToo() throws {
        #expect(try DefinitionDocument.parse(DefinitionDocument.export(DefinitionSet())).change == DefinitionChange())
    }

    /// Parsing an exported document returns the same definitions, whatever they contain.
    @Test func documentReadsBackToTheSame() throws {
        var random = SeededGenerator()
        for _ in 0..<300 {
            let set = DefinitionSet(
                queues: [QueueSettings(name: "q\(random.next() % 9)", limit: 3, limitPerDaemon: 2, weight: 2)],
                definitions: [stored(definition("a", &random)), stored(definition("b", &random))],
                graphs: [
                    stored(
                        GraphDefinition(
                            name: "g", summary: text(&random),
                            nodes: [
                                .init(name: "z", definition: text(&random), input: object(2, &random)),
                                .init(name: "y", definition: "a", after: [.init(node: "z", condition: .finished)]),
                            ], parameters: [.init(name: "p", node: "z", field: text(&random))]))
                ])
            let document = DefinitionDocument.export(set)
            do {
                let change = try DefinitionDocument.parse(document).change
                #expect(change.definitions == set.definitions.map(\.definition), "seed \(random.seed):\n\(document)")
                #expect(change.graphs == set.graphs.map(\.definition), "seed \(random.seed):\n\(document)")
                #expect(set.differences(after: change).allSatisfy { $0.change == .unchanged })
            } catch {
                Issue.record("seed \(random.seed): \(error)\n\(document)")
            }
        }
    }

    private func definition(_ name: String, _ random: inout SeededGenerator) -> Definition {
        Definition(
            name: name, kind: text(&random), summary: Bool.random(using: &random) ? text(&random) : nil,
            queue: text(&random), priority: Priority.allCases.randomElement(using: &random)!,
            retry: [
                .standard, .never,
                RetryPolicy(tries: 2, delay: .list([.seconds(1)]), failures: .codes(["a", "null"])),
            ]
            .randomElement(using: &random)!,
            timeout: Bool.random(using: &random)
                ? .milliseconds(Int64.random(in: 1...10_000_000, using: &random)) : nil,
            input: object(3, &random))
    }

    private func object(_ depth: Int, _ random: inout SeededGenerator) -> JSONText {
        var object = JSONObject()
        for _ in 0..<Int.random(in: 0...3, using: &random) { object[text(&random)] = value(depth - 1, &random) }
        return object.text
    }

    private func value(_ depth: Int, _ random: inout SeededGenerator) -> JSONText {
        switch Int.random(in: 0...(depth > 0 ? 6 : 4), using: &random) {
        case 0: JSONText(boolean: Bool.random(using: &random))
        case 1: JSONText(integer: Int64.random(in: .min ... .max, using: &random))
        case 2:
            JSONText(
                trusted: Array(
                    ["1.50", "-0", "1e5", "0.1", "1E+10", "12345678901234567890"].randomElement(using: &random)!.utf8))
        case 3: .null
        case 4: JSONText(string: text(&random))
        case 5: object(depth, &random)
        default: JSONText(elements: (0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth - 1, &random) })
        }
    }

    private func text(_ random: inout SeededGenerator) -> String {
        let known = [
            "x", "null", "~", "true", "No", "on", "1", "1.5", "1e5", "0x1F", "0o7", "1h30m", "30s", "5m3", "2024-01-01",
            "12:30:45", ".inf", "-", "--", "---", "...", "- a", "a: b", "a:", "a :b", "a #b", "#a", "a ", " a", "",
            "[a]",
            "{a}", "a, b", "a; b", "&a", "*a", "!a", "!!str", "|", ">", "%a", "@a", "`a`", "'a'", "\"a\"", "\\", "a\nb",
            "a\r\nb",
            "\t", "a\tb", "\u{1}", "\u{7F}", "\u{85}", "\u{A0}", "\u{2028}", "a\u{FEFF}", "\u{FEFF}a", "\u{FFFE}",
            "\u{FFFF}",
            "\u{D7FF}",
            "\u{E000}", "é", "e\u{301}", "😀", "日本語", "<<", "=", "?", "? a", "a?b", "https://example.org/a?b=c&d#e",
            "/tmp/x",
            "=1", "+1", "1_000", "_", "a: ", "key: value # no", "y", "null ",
            String(repeating: "long words ", count: 40),
        ]
        return known.randomElement(using: &random)!
    }
}

/// A small random number generator. A failure prints its seed, so that it can be reproduced.
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
