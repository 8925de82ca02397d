import CalendarEvents
import Definitions
import Jobs
import OperationTypes
import Testing

@Suite struct DocumentParsingTests {
    private static let document = """
        # A comment.
        queues:
          slow: {limit: 2, limit_per_daemon: 1, weight: 3}
          wide: {limit_per_daemon: none}
          default:
        definitions:
          fetch:
            kind: fetch
            summary: 'Reads a page: quickly'
            queue: slow
            priority: high
            timeout: 1m30s
            retry: {tries: 3, delay: constant, initial: 10s, on: any}
            input:
              method: GET
              limit: 0x10
              ratio: .5
              version: "1"
              country: no
              deep: true
              none: ~
              headers: {X-A: "1,2", accept: text/html}
              day: 2024-01-01
          store: {kind: store}
        graphs:
          chain:
            parameters: {url: fetch.url}
            nodes:
              fetch: {definition: fetch}
              store: {definition: store, after: ["fetch:finished"], input: {to: https://example.org/x}}
        """

    @Test func everythingIsRead() throws {
        let change = try DefinitionDocument.parse(Self.document).change
        #expect(
            change.queues == [
                QueueChange(name: "slow", limit: 2, limitPerDaemon: .atMost(1), weight: 3),
                QueueChange(name: "wide", limitPerDaemon: .unlimited), QueueChange(name: "default"),
            ])
        let input =
            #"{"method":"GET","limit":16,"ratio":0.5,"version":"1","country":"no","deep":true,"none":null,"#
            + #""headers":{"X-A":"1,2","accept":"text/html"},"day":"2024-01-01"}"#
        #expect(
            change.definitions == [
                Definition(
                    name: "fetch", kind: "fetch", summary: "Reads a page: quickly", queue: "slow", priority: .high,
                    retry: RetryPolicy(tries: 3, delay: .constant(.seconds(10)), failures: .any),
                    timeout: .seconds(90), input: JSONText(trusted: Array(input.utf8))),
                Definition(name: "store", kind: "store"),
            ])
        #expect(
            change.graphs == [
                GraphDefinition(
                    name: "chain",
                    nodes: [
                        .init(name: "fetch", definition: "fetch"),
                        .init(
                            name: "store", definition: "store", after: [.init(node: "fetch", condition: .finished)],
                            input: JSONText(trusted: Array(#"{"to":"https://example.org/x"}"#.utf8))),
                    ], parameters: [.init(name: "url", node: "fetch", field: "url")])
            ])
        #expect(change.removals.isEmpty)
    }

    @Test func problemOfTheCatalogIsToldWithItsLine() throws {
        let document = try DefinitionDocument.parse(Self.document)
        #expect(
            document.describe(DefinitionProblem(.graph("chain"), .noNodes))
                == #"line 26: graph "chain": it has no nodes; add at least one"#)
        #expect(
            document.describe(DefinitionProblem(.graph("other"), .noNodes))
                == #"graph "other": it has no nodes; add at least one"#)
    }

    @Test func jsonIsReadToo() throws {
        let text =
            #"{"queues": {"slow": {"limit": 2}}, "definitions": [{"name": "a", "kind": "b", "summary": "\uD83D\uDE00"}]}"#
        let change = try DefinitionDocument.parse(text).change
        #expect(change.queues == [QueueChange(name: "slow", limit: 2)])
        #expect(change.definitions == [Definition(name: "a", kind: "b", summary: "😀")])
    }

    @Test func schedulesAreRead() throws {
        let text = """
            schedules:
              nightly:
                summary: At night.
                calendar: [Mon..Fri 03:00 Europe/Berlin, monthly]
                definition: chain
                input: {url: https://example.org/}
                queue: slow
                priority: low
                persistent: true
                overlap: allow
              often: {calendar: minutely, definition: fetch}
            """
        let document = try DefinitionDocument.parse(text)
        let expected = [
            Schedule(
                name: "nightly", summary: "At night.",
                calendar: [try CalendarExpression("Mon..Fri 03:00 Europe/Berlin"), try CalendarExpression("monthly")],
                definition: "chain", input: JSONText(trusted: Array(#"{"url":"https://example.org/"}"#.utf8)),
                queue: "slow", priority: .low, isPersistent: true, overlap: .allow),
            Schedule(name: "often", calendar: [try CalendarExpression("*:*")], definition: "fetch"),
        ]
        #expect(document.change.schedules == expected)
        #expect(document.lines[.schedule("often")] == 11)
        let stored = DefinitionSet(schedules: document.change.schedules)
        #expect(try DefinitionDocument.parse(DefinitionDocument.export(stored)).change == document.change)
        #expect(stored.differences(after: document.change).map(\.change) == [.unchanged, .unchanged])
        var change = document.change
        change.schedules[1].calendar = [try CalendarExpression("hourly")]
        change.schedules[1].isPersistent = true
        change.scheduleRemovals = ["nightly"]
        change.schedules.removeFirst()
        #expect(
            stored.differences(after: change).map(\.description) == [
                #"~ schedule often: calendar ["*-*-* *:*:00"] → ["*-*-* *:00:00"], persistent false → true"#,
                "- schedule nightly",
            ])
    }

    @Test func aScheduleHasAtMost32Expressions() {
        let list = Array(repeating: "hourly", count: 33).joined(separator: ", ")
        let problem = #expect(throws: DefinitionsProblem.self) {
            try DefinitionDocument.parse("schedules: {a: {calendar: [\(list)], definition: fetch}}")
        }
        #expect(problem?.message.contains("33 expressions; the limit is 32") == true, "\(problem?.message ?? "")")
    }

    @Test func aliasIsWrittenOut() throws {
        let text = """
            definitions:
              a: {kind: k, retry: &patient {tries: 9}}
              b: {kind: k, retry: *patient}
            """
        #expect(try DefinitionDocument.parse(text).change.definitions.map(\.retry.tries) == [9, 9])
    }

    @Test(arguments: [
        ("", "the document is empty; give at least one of queues, definitions, graphs, schedules"),
        ("# only a comment\n", "the document is empty; give at least one of queues, definitions, graphs, schedules"),
        ("[]", "line 1: expected an object, found an array"),
        ("just words", "line 1: expected an object, found a string"),
        ("queue: {}", #"line 1: queue: unknown field "queue"; did you mean "queues"?"#),
        ("jobs: {}", #"line 1: jobs: unknown field "jobs"; the fields are definitions, graphs, queues, schedules"#),
        ("queues:\n  a: {limit: many}", #"line 2: queues.a.limit: expected a whole number, found "many""#),
        ("queues:\n  a:\n    limt: 1", #"line 3: queues.a.limt: unknown field "limt"; did you mean "limit"?"#),
        (
            "schedules:\n  a:\n    definition: d\n    calendar:\n      - daily\n      - Mon 25:00",
            #"line 6: schedules.a.calendar.1: "Mon 25:00", column 5: expected an hour from 0 to 23, found "25:00""#
        ),
        (
            "schedules:\n  a: {definition: d, calendar: daily, overlap: sometimes}",
            #"line 2: schedules.a.overlap: unknown value "sometimes"; use one of allow, skip"#
        ),
        ("schedules: {a: {definition: d}}", "line 1: schedules.a.calendar: is missing; it is required"),
        (
            "schedules: {a: {calendar: [], definition: d}}",
            "line 1: schedules.a.calendar: the list is empty; write at least one expression"
        ),
        ("queues: 5", "line 1: queues: expected a map with names as keys, or a list, found a number"),
        ("definitions:\n  a:\n    summary: x", "line 2: definitions.a.kind: is missing; it is required"),
        (
            "definitions:\n  a:\n    kind: x\n    titel: x",
            #"line 4: definitions.a.titel: unknown field "titel"; the fields are input, kind, name, priority, queue, retry, summary, timeout"#
        ),
        (
            "definitions:\n  a:\n    kind: x\n    retry:\n      tries: 0",
            "line 5: definitions.a.retry.tries: expected 1 to 1000, found 0"
        ),
        (
            "definitions:\n  a:\n    kind: x\n    timeout: 30",
            "line 4: definitions.a.timeout: expected a duration such as 250ms, 30s, 5m, 1h30m or 2d, found 30"
        ),
        (
            "graphs:\n  g:\n    nodes:\n      a:\n        definition: d\n        after: [b, 'c:done']",
            #"line 6: graphs.g.nodes.a.after.1: unknown condition "done"; use one of finished, succeeded"#
        ),
        (
            "definitions:\n  a: {kind: x}\n  b: {kind: x}\n  a: {kind: y}",
            #"line 4: the name "a" occurs twice in one map; remove one"#
        ),
        (
            #"{"definitions": {"a": {"kind": "x"}, "a": {"kind": "x"}}}"#,
            #"line 1: the name "a" occurs twice in one map; remove one"#
        ),
        (
            "definitions:\n  a:\n    kind: x\n    input: {1: a, \"1\": b}",
            #"line 4: the name "1" occurs twice in one map; remove one"#
        ),
        (
            "definitions:\n  ? [a]\n  : {kind: x}",
            "line 2: definitions: a name must be a plain word, not a list or a map"
        ),
        (
            "definitions:\n  a:\n    kind: x\n    input: {n: .inf}",
            "line 4: definitions.a.input.n: .inf is not a JSON number; write a finite number, or put it in quotes"
        ),
        (
            "definitions:\n  a:\n    kind: !!binary eA==",
            "line 3: definitions.a.kind: the tag tag:yaml.org,2002:binary is not supported; remove it"
        ),
        (
            "definitions:\n  a:\n    kind: \"x\\0\"",
            "line 3: definitions.a.kind: a string contains the character U+0000; remove it"
        ),
        (
            "definitions:\n\ta: 1",
            "line 2: invalid YAML: a tab is used where only spaces are allowed; indent with spaces"
        ),
        (
            "definitions: {a: {kind: x}\n",
            "line 2: invalid YAML: did not find expected ',' or '}' (while parsing a flow mapping, line 1)"
        ),
        ("definitions: *missing", "line 1: the alias *missing has no anchor before it"),
        (
            "queues: {}\n---\nqueues: {}",
            "line 2: a second document begins here; write only one"
        ),
    ])
    func badDocumentIsRefused(text: String, message: String) {
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
        #expect(problem?.description == message)
    }

    @Test func everyProblemIsToldOnce() {
        let text = """
            queue: {}
            queues:
              a: {limit: many, wieght: 2}
            definitions:
              a:
                timeout: 30
                retry: {tries: 0}
                colour: red
              b: {kind: 5, priority: 9}
              c: {kind: x}
            graphs:
              g:
                nodes:
                  one: {after: [x], queue: 7}
                  two: {definition: d, after: ['one:done']}
            schedules:
              s: {calendar: [daily, "25:00"], definition: c, overlap: sometimes}
            """
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
        let places = problem.map { [$0] + $0.others }?.map { "\($0.line ?? 0) \($0.path.joined(separator: "."))" } ?? []
        #expect(
            places.sorted() == [
                "1 queue", "14 graphs.g.nodes.one.definition", "15 graphs.g.nodes.two.after.0",
                "17 schedules.s.calendar.1", "17 schedules.s.overlap", "3 queues.a.limit", "3 queues.a.wieght",
                "5 definitions.a.kind", "6 definitions.a.timeout", "7 definitions.a.retry.tries",
                "8 definitions.a.colour", "9 definitions.b.kind", "9 definitions.b.priority",
            ])
    }

    @Test func everyWrongEntryAndEveryFieldOfAPolicyIsToldOnce() {
        let text = """
            definitions:
              a:
                kind: k
                retry:
                  tries: 0
                  initial: soon
                  cap: 500ms
                  jitter: some
                  on: [timed_out, 7, 8]
              b: {kind: k, retry: {delay: often, tries: many}}
              c: {kind: k, retry: {delay: list, delays: [1s, x, 2s, y], tries: 0}}
              d: {kind: k, retry: {delay: list, jitter: some}}
              e: {kind: k, retry: {delay: none, initial: 1s, tries: 0}}
            graphs:
              g:
                nodes:
                  one: {definition: d}
                  two: {definition: d, after: ["one:done", one, "x:y"]}
            schedules:
              s: {calendar: ["25:00", daily, "26:00"], definition: c}
            """
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
        let places = problem.map { [$0] + $0.others }?.map { "\($0.line ?? 0) \($0.path.joined(separator: "."))" } ?? []
        #expect(
            places.sorted() == [
                "10 definitions.b.retry.delay", "10 definitions.b.retry.tries", "11 definitions.c.retry.delays.1",
                "11 definitions.c.retry.delays.3", "11 definitions.c.retry.tries", "12 definitions.d.retry.delays",
                "12 definitions.d.retry.jitter", "13 definitions.e.retry.initial", "13 definitions.e.retry.tries",
                "18 graphs.g.nodes.two.after.0", "18 graphs.g.nodes.two.after.2", "20 schedules.s.calendar.0",
                "20 schedules.s.calendar.2", "5 definitions.a.retry.tries", "6 definitions.a.retry.initial",
                "8 definitions.a.retry.jitter", "9 definitions.a.retry.on.1", "9 definitions.a.retry.on.2",
            ])
    }

    @Test func aProblemOfTheCatalogIsToldWithTheLineOfItsField() throws {
        let text = """
            queues:
              q:
                limit: 0
                limit_per_daemon: 0
                weight: 0
            definitions:
              - name: a
                kind: unknown
                timeout: 9999d
                input:
                  x: 1
            """
        let document = try DefinitionDocument.parse(text)
        let problems = Catalog(DefinitionSet()).check(document.change).map(document.describe)
        #expect(problems.map { $0.prefix { $0 != ":" } } == ["line 3", "line 4", "line 5", "line 9", "line 8"])
    }

    @Test func noMoreProblemsAreToldThanAnybodyReads() {
        let text = "definitions:\n" + (0..<30).map { "  d\($0): {kind: x, colour: red}\n" }.joined()
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
        #expect(problem?.descriptions.count == 20)
    }

    @Test(arguments: [(1, 2), (300_000, 1)])
    func whatIsLargeIsReadOnce(bytes: Int, problems: Int) {
        let text = String(repeating: "x", count: bytes)
        let document = "definitions:\n  a: {kind: x, colour: red, size: 3, input: {text: \(text)}}\n"
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(document) }
        #expect(problem?.descriptions.count == problems)
    }

    @Test func smallDocumentThatGrowsWithoutBoundsIsRefused() {
        var text = "definitions:\n  a: {kind: x, input: {l0: &l0 [x, x, x, x, x, x, x, x, x, x]"
        for level in 1...8 {
            let aliases = Array(repeating: "*l\(level - 1)", count: 10).joined(separator: ", ")
            text += ", l\(level): &l\(level) [\(aliases)]"
        }
        text += "}}"
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
        #expect(problem?.description == "the document is larger than 8 MiB; split it")
    }

    /// A few kilobytes of text expand to nine million empty maps.
    @Test(arguments: ["{}", "[]"])
    func emptyValuesGrowNoLess(value: String) {
        func list(_ alias: String) -> String { "[" + Array(repeating: alias, count: 3000).joined(separator: ",") + "]" }
        let text = "definitions: {a: {kind: x, input: {a: &a \(value), b: &b \(list("*a")), c: \(list("*b"))}}}"
        let problem = #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
        #expect(problem?.description == "the document is larger than 8 MiB; split it")
    }

    @Test func deepNestingEndsWithAnError() {
        let text = "definitions: " + String(repeating: "[", count: 100_000)
        #expect(throws: DefinitionsProblem.self) { try DefinitionDocument.parse(text) }
    }
}
