import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// `halyard.enqueue` refuses in the words of the socket, and inserts the rows of the socket.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct SameAnswerTests {
    private func withWays(_ body: (TwoWays, Connection) async throws -> Void) async throws {
        try await Turns.shared.run {
            let ways = try await TwoWays()
            let connection = try ways.connect()
            try await body(ways, connection)
            await ways.close()
        }
    }

    private static func submission(
        _ name: String, _ input: String? = nil, queue: String? = nil, priority: Priority? = nil,
        after: [Submission.ExistingDependency] = [], start: Submission.Start = .now, key: String? = nil
    ) -> Submission {
        Submission(
            .definition(name), input: input.map(json), queue: queue, priority: priority, after: after, start: start,
            key: key)
    }

    private static let url = #""url":"https://example.org/a?b=c""#

    static let refused: [Submission] = [
        submission("fetsh"), submission("FETCH"), submission("quite another name"), submission("fetch-h"),
        submission("broken"), submission("refused"), submission("", "{}"), submission("sav", "{}"),
        submission("fetch"), submission("fetch", "{}"), submission("fetch", "[]"), submission("fetch", "7"),
        submission("fetch", "\"x\""), submission("fetch", "true"),
        submission("fetch", #"{"url":null}"#), submission("fetch", #"{"urls":"https://a"}"#),
        submission("fetch", #"{"quite another":1}"#), submission("fetch", #"{"url":7}"#),
        submission("fetch", #"{"url":"ftp://a"}"#), submission("fetch", #"{"url":"https://"}"#),
        submission("fetch", #"{"url":"no address"}"#), submission("fetch", #"{"url":":x"}"#),
        submission("fetch", "{\(url),\"method\":\"PUT\"}"), submission("fetch", "{\(url),\"limit\":0}"),
        submission("fetch", "{\(url),\"limit\":101}"), submission("fetch", "{\(url),\"limit\":1.5}"),
        submission("fetch", "{\(url),\"limit\":\"7\"}"), submission("fetch", "{\(url),\"at_least\":-6}"),
        submission("fetch", "{\(url),\"any\":1e30}"), submission("fetch", "{\(url),\"any\":9223372036854775808}"),
        submission("fetch", "{\(url),\"ratio\":\"1\"}"), submission("fetch", "{\(url),\"deep\":1}"),
        submission("fetch", "{\(url),\"headers\":[]}"), submission("fetch", "{\(url),\"tags\":{}}"),
        submission("fetch", "{\(url),\"max_size\":\"7\"}"), submission("fetch", "{\(url),\"max_size\":\"2GiB\"}"),
        submission("fetch", "{\(url),\"max_size\":0}"), submission("fetch", "{\(url),\"max_size\":1.5}"),
        submission("fetch", "{\(url),\"max_size\":true}"),
        submission("fetch", "{\(url),\"max_size\":\"99999999999999999999TiB\"}"),
        submission("fetch", "{\(url),\"timeout\":\"5\"}"), submission("fetch", "{\(url),\"timeout\":\"2h\"}"),
        submission("fetch", "{\(url),\"timeout\":30}"), submission("fetch", "{\(url),\"pause\":\"1x\"}"),
        submission("fetch", "{\(url),\"pause\":\"\\u001b\\u202e a very long text that is not a duration at all\"}"),
        submission("fetch", "{\(url),\"note's \\\"%\\\\\":1}"),
        submission("fetch", "{\(url)}", queue: "defualt"), submission("fetch", "{\(url)}", queue: "no such queue"),
        submission("save", "{}", queue: "nett"), submission("fetch", "{\(url)}", key: ""),
        submission("fetch", "{\(url)}", key: String(repeating: "k", count: 256)),
        submission("fetch", "{\(url)}", key: "a\u{1B}b"), submission("fetch", "{\(url)}", key: "a\nb"),
        submission("fetch", "{\(url)}", key: "a\u{202E}b"), submission("fetch", "{\(url)}", key: "a\u{200B}b"),
        submission("fetch", "{\(url)}", key: "a\u{FFFD}b"), submission("fetch", "{\(url)}", key: "a\u{E0001}b"),
        submission("fetch", "{\(url)}", start: .after(.seconds(-1))),
        submission("fetch", "{\(url)}", start: .after(.seconds(36_501 * 86_400))),
        submission("fetch", "{\(url)}", after: [.init(job: JobID(99999))]),
        submission("fetch", "{\(url)}", after: [.init(job: JobID(1)), .init(job: JobID(2)), .init(job: JobID(1))]),
        submission("fetch", "{\(url)}", after: [.init(job: JobID(1)), .init(job: JobID(1), condition: .finished)]),
        submission("join", #"{"b.url":"https://a"}"#, after: [.init(job: JobID(1)), .init(job: JobID(1))]),
        submission("unfurl", after: [.init(job: JobID(1))]), submission("merge", after: [.init(job: JobID(2))]),
        submission("same", after: [.init(job: JobID(2))]), submission("convert"), submission("convert", #"{"file":1}"#),
        submission("convert", #"{"file":"a","widht":1}"#), submission("convert", #"{"file":"a","width":"1"}"#),
        submission("tag"), submission("tag", #"{"tags":"a"}"#), submission("tag", #"{"tags":{}}"#),
        submission("tag", #"{"tags":[]}"#), submission("tag", #"{"tags":["a",7]}"#),
        submission("tag", #"{"tags":["a"],"rest":["b",null]}"#), submission("tag", #"{"tags":["a",["b"]]}"#),
        submission("tag", #"{"tags":["spool:a1-b2-c3/x.jpg"]}"#), submission("tag", #"{"tags":["a","spool:a1-b2"]}"#),
        submission("tag", "{\"tags\":[\(Array(repeating: "\"a\"", count: 1001).joined(separator: ","))]}"),
        submission("tag", #"{"tags":["a","-b"]}"#), submission("tag", #"{"tags":["a"],"name":"-n"}"#),
        submission("tag", #"{"tags":["a"],"level":-4}"#), submission("tag", #"{"tags":["a"],"name":7}"#),
        submission("tag", "{\"tags\":[\"a\",\"\(String(repeating: "x", count: 131_072))\"]}"),
        submission("tag", "{\"tags\":[\"a\"],\"to\":\"\(String(repeating: "x", count: 131_072))\"}"),
        submission("tagged", #"{"name":"-x"}"#), submission("tagged", #"{"tag.tags":[]}"#),
        submission("tagged", #"{"tag.tags":["-a"],"name":"-x"}"#), submission("tagged", #"{"tag.tags":7}"#),
        submission("save"), submission("save", "[]"), submission("save", #"{"urll":"https://a"}"#),
        submission("save", #"{"quite another":1}"#), submission("save", #"{"unfurl.x":1}"#),
        submission("save", #"{"nothing.url":1}"#), submission("save", #"{"url":"https://a","unfurl.url":"https://b"}"#),
        submission("save", #"{"url":"http://a"}"#), submission("save", #"{"url":"https://a","limit":0}"#),
        submission("save", #"{"url":"https://a","fetch.timeout":"x","fetch.limit":"x"}"#),
        submission("titled"), submission("titled", #"{"title":null}"#), submission("unfit"),
        submission("unfit", #"{"url":null}"#), submission("join"),
        submission("join", #"{"all.title":null,"b.url":"https://a"}"#),
        submission("noop", "{\"x\":\"\(String(repeating: "x", count: 1 << 20))\"}"),
        submission("save", "{\"url\":\"https://\(String(repeating: "x", count: 1 << 20))\"}"),
    ]

    @Test func refusalsAreTheSame() async throws {
        try await withWays { ways, connection in
            // Jobs 1 and 2, to depend on.
            try await ways.expectSame(Self.submission("unfurl", "{\(Self.url)}"), connection)
            for submission in Self.refused {
                let input = submission.input.map { $0.string.prefix(60) } ?? ""
                let answer = try await ways.expectSame(
                    submission, connection, "\(submission.work) \(input) \(submission.key ?? "")")
                guard case .refused = answer else {
                    Issue.record("\(submission.work) \(input) was not refused: \(answer)")
                    continue
                }
            }
            #expect(try await ways.store.counts()[.ready] == 2)
        }
    }

    @Test func rowsAreTheSame() async throws {
        try await withWays { ways, connection in
            let later = Submission.Start.at(Timestamp(milliseconds: 4_000_000_000_123))
            let soon = Submission.Start.after(.milliseconds(90_500))
            let existing = [
                Submission.ExistingDependency(job: JobID(1)), .init(job: JobID(2), condition: .finished),
            ]
            try await ways.expectSame(Self.submission("unfurl", "{\(Self.url)}"), connection)
            let accepted: [Submission] = [
                Self.submission("noop"), Self.submission("noop", "[1,2]"),
                Self.submission("noop", #"{"x":{"b":1,"a":[]}}"#),
                Self.submission("fetch-home"), Self.submission("fetch-slow", "{\(Self.url)}"),
                Self.submission("fetch-slow", "{\(Self.url)}", queue: "mail", priority: .veryLow),
                Self.submission(
                    "fetch",
                    "{\(Self.url),\"limit\":5.0,\"any\":1e3,\"ratio\":0.5,\"max_size\":\"5 MiB\","
                        + "\"timeout\":\"1m30s\",\"pause\":\"0s\",\"tags\":null,\"method\":\"HEAD\"}"),
                Self.submission("fetch", "{\(Self.url)}", start: later),
                Self.submission("fetch", "{\(Self.url)}", start: .at(Timestamp(milliseconds: 5))),
                Self.submission("fetch", "{\(Self.url)}", start: soon), Self.submission("noop", start: .after(.zero)),
                Self.submission("fetch", after: existing), Self.submission("noop", after: existing, start: later),
                Self.submission("noop", after: existing, start: soon),
                Self.submission("log", after: existing), Self.submission("save", "{\(Self.url)}"),
                Self.submission(
                    "save", "{\(Self.url),\"limit\":9,\"fetch.tags\":[],\"fetch.deep\":true}", key: "graph"),
                Self.submission("save", "{\(Self.url)}", queue: "net", priority: .low, start: later),
                Self.submission("save", "{\(Self.url)}", after: existing, start: soon),
                Self.submission("join", #"{"b.url":"https://a"}"#, start: soon),
                Self.submission("join", after: [.init(job: JobID(1))]),
                Self.submission("convert", #"{"file":"a","width":7}"#),
                Self.submission("tag", #"{"tags":["a","b"],"name":null,"to":"-x","level":7,"rest":["-y"]}"#),
                Self.submission("tag", #"{"tags":["","spool:","spool:-"],"name":"","level":null}"#),
                Self.submission("tagged"), Self.submission("tagged", #"{"name":"y","tag.rest":["-z"]}"#),
                Self.submission("free", "[7]"), Self.submission("free", #"{"any":1}"#),
                Self.submission("titled", #"{"title":"x"}"#), Self.submission("unfit", #"{"url":"https://a"}"#),
            ]
            for submission in accepted {
                let answer = try await ways.expectSame(submission, connection, "\(submission)")
                guard case .enqueued = answer else {
                    Issue.record("\(submission) was not accepted: \(answer)")
                    continue
                }
            }
        }
    }

    @Test func endedDependenciesCountTheSame() async throws {
        try await withWays { ways, connection in
            // One job for each outcome.
            let step = try await ways.store.definitions().definitions.first { $0.definition.name == "noop" }!.id
            let lone = (0..<3).map { NewGraph(isGraph: false, jobs: [NewJob(definition: step, node: "n\($0)")]) }
            _ = try await ways.store.enqueue(lone, now: TwoWays.now)
            let claimed = try await ways.store.exchange(
                [], claim: ClaimRequest(slots: 10), by: ways.holder, now: TwoWays.now
            ).claimed
            #expect(claimed.count == 3)
            let ends = [
                AttemptEnd(lease: claimed[0].lease, ending: .succeeded(json("1"))),
                AttemptEnd(lease: claimed[1].lease, ending: .failed(JobFailure(code: "x", message: "y"))),
            ]
            _ = try await ways.store.exchange(ends, claim: nil, by: ways.holder, now: TwoWays.now)
            _ = try await ways.store.enqueue(
                [
                    NewGraph(
                        isGraph: false, jobs: [NewJob(definition: step, dependencies: [.init(on: .existing(JobID(2)))])]
                    ),
                    NewGraph(isGraph: false, jobs: [NewJob(definition: step)]),
                ], now: TwoWays.now)
            _ = try await ways.store.cancel([JobID(5)], now: TwoWays.now)
            // 1 succeeded, 2 failed, 3 runs, 4 was skipped because of 2, 5 was cancelled.
            for first in 1...5 {
                for second in 1...5 where second != first {
                    for condition in [DependencyCondition.succeeded, .finished] {
                        let after = [
                            Submission.ExistingDependency(job: JobID(Int64(first))),
                            .init(job: JobID(Int64(second)), condition: condition),
                        ]
                        for name in ["noop", "save", "join"] {
                            let input =
                                name == "save" ? "{\(Self.url)}" : name == "join" ? #"{"b.url":"https://a"}"# : nil
                            try await ways.expectSame(
                                Self.submission(name, input, after: after), connection,
                                "\(name) after \(first) and \(second) (\(condition))")
                        }
                    }
                }
            }
        }
    }

    @Test func keysMeanTheSame() async throws {
        try await withWays { ways, connection in
            let requests = [
                Self.submission("fetch", "{\(Self.url)}", key: "k"), Self.submission("noop", key: "it's \u{1F600}"),
                Self.submission(
                    "noop", #"{"é":"\b\f\n\u001f\"\\/ü","a":[1.50,true,null,{}],"aa":1,"b":{"z":1,"a":2}}"#, key: "b"),
                Self.submission(
                    "save", "{\(Self.url)}", queue: "net", priority: .low, after: [.init(job: JobID(1))],
                    start: .after(.milliseconds(1500)), key: "g"),
                Self.submission("noop", start: .at(Timestamp(milliseconds: 5)), key: "at"),
            ]
            for (index, request) in requests.enumerated() {
                // Alternately, the one or the other comes first.
                var first: TwoWays.Answer
                if index % 2 == 0 {
                    _ = try ways.viaSQL(request, connection)
                    first = try await ways.viaControl(request, connection)
                    #expect(try ways.viaSQL(request, connection) == first)
                } else {
                    _ = try await ways.viaControl(request, connection)
                    first = try ways.viaSQL(request, connection)
                    #expect(try await ways.viaControl(request, connection) == first)
                }
                guard case .duplicate = first else {
                    Issue.record("\(request) is no duplicate: \(first)")
                    continue
                }
                // Any other request with the key is refused, also one that could not be planned.
                var others = [request, request, request]
                others[0].input = json(#"{"url":"https://other.example/"}"#)
                others[1].queue = "mail"
                others[2].work = .definition("gone")
                for other in others { try await ways.expectSame(other, connection) }
            }
            // A definition that is gone does not hide the answer to a repetition.
            try await ways.store.change(DefinitionChange(removals: ["fetch"]), now: TwoWays.now)
            guard case .duplicate = try await ways.expectSame(requests[0], connection) else {
                Issue.record("the key of a removed definition was forgotten")
                return
            }
        }
    }

    @Test func changesOfDefinitionsKindsAndQueuesCountAtOnce() async throws {
        try await withWays { ways, connection in
            let store = ways.store
            let fetch = Self.submission("fetch", "{\(Self.url)}")
            try await ways.expectSame(fetch, connection)
            // A kind gains a required field.
            var kinds = SampleDefinitions.kinds
            kinds[0].fields.append(InputField("user", .string, isRequired: true, summary: ""))
            try await store.register(kinds, by: ways.holder, now: TwoWays.now)
            let refused = try await ways.expectSame(fetch, connection)
            #expect(refused == .refused(code: "invalid-input", message: "The field \"user\" is missing; add it."))
            try await ways.expectSame(Self.submission("fetch", "{\(Self.url),\"user\":\"me\"}"), connection)
            // A definition changes, becomes a graph definition, and goes.
            try await store.change(
                DefinitionChange(definitions: [Definition(name: "noop", kind: "noop", queue: "net")]), now: TwoWays.now)
            try await ways.expectSame(Self.submission("noop"), connection)
            try await store.change(
                DefinitionChange(
                    graphs: [GraphDefinition(name: "noop", nodes: [.init(name: "a", definition: "unfurl")])],
                    removals: ["noop"]),
                now: TwoWays.now)
            try await ways.expectSame(Self.submission("noop"), connection)
            try await ways.expectSame(Self.submission("noop", "{\"a.url\":\"https://a\"}"), connection)
            _ = try await store.change(QueueChange(name: "new"), now: TwoWays.now)
            try await ways.expectSame(Self.submission("unfurl", "{\(Self.url)}", queue: "new"), connection)
            _ = try await store.change(QueueChange(name: "spare"), now: TwoWays.now)
            _ = try await store.removeQueue("spare", now: TwoWays.now)
            try await ways.expectSame(Self.submission("unfurl", "{\(Self.url)}", queue: "spare"), connection)
            try await store.register([], by: ways.holder, now: TwoWays.now)
            try await ways.expectSame(Self.submission("unfurl", "{\(Self.url)}"), connection)
        }
    }

    @Test(arguments: [UInt64(1), 2, 3]) func randomRequestsAreAnsweredTheSame(seed: UInt64) async throws {
        try await withWays { ways, connection in
            var random = Numbers(seed: seed)
            try await ways.expectSame(Self.submission("unfurl", "{\(Self.url)}"), connection)
            var accepted = 0
            for _ in 0..<150 {
                let submission = Self.randomSubmission(&random)
                let answer = try await ways.expectSame(submission, connection, "seed \(seed): \(submission)")
                if case .enqueued = answer { accepted += 1 }
            }
            #expect((10...140).contains(accepted))
        }
    }

    // MARK: Random requests

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }
        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state &* 0x2545_F491_4F6C_DD1D
        }
    }

    private static let values = [
        "1", "0", "-3", "2.0", "2.5", "1e2", "99999999999999999999", "true", "null", "[]", "{}", "\"\"", "\"GET\"",
        "\"https://a\"", "\" H\\tTTP:/\\\\x\"", "\"http:\"", "\"5MiB\"", "\"5 KiB\"", "\"-1B\"", "\"+7B\"", "\"1h30m\"",
        "\"90s\"", "\"90\"", "\"\\u00e9\"", "[1,{\"a\":null}]", "{\"b\":1,\"a\":2}",
        "[\"a\",\"b\"]", "[\"a\",\"-b\"]", "[\"spool:a-b-c-d\"]", "\"-x\"",
    ]

    private static func randomSubmission(_ random: inout Numbers) -> Submission {
        let name = [
            "fetch", "fetch-slow", "fetch-home", "unfurl", "merge", "log", "same", "noop", "save", "save", "join",
            "join",
            "titled", "unfit", "unfurk", "broken", "tag", "tag", "tagged",
        ].randomElement(using: &random)!
        let fields = [
            "url", "url", "method", "limit", "at_least", "any", "ratio", "deep", "headers", "tags", "max_size",
            "timeout",
            "pause", "title", "pages", "what", "value", "unfurl.url", "fetch.limit", "b.url", "b.any", "all.title",
            "second.url", "lmit", "name", "level", "to", "rest", "tag.tags", "tag.level",
        ]
        var input: JSONText?
        if Int.random(in: 0..<8, using: &random) > 0 {
            var parts: [String: String] = [:]
            if Bool.random(using: &random) {
                parts[["url", "b.url"].randomElement(using: &random)!] = "\"https://a/\""
            }
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                parts[fields.randomElement(using: &random)!] = values.randomElement(using: &random)!
            }
            let text = parts.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
            input = json("{\(text)}")
        }
        var after: [Submission.ExistingDependency] = []
        if Int.random(in: 0..<4, using: &random) == 0 {
            let some = [Int64(1), 2, 3, 4].shuffled(using: &random).prefix(Int.random(in: 1..<3, using: &random))
            after = some.map { .init(job: JobID($0), condition: Bool.random(using: &random) ? .finished : .succeeded) }
            // The order of the arguments.
            after.sort { $0.condition.rawValue < $1.condition.rawValue }
        }
        let starts: [Submission.Start] = [
            .now, .now, .after(.seconds(30)), .at(Timestamp(milliseconds: 4_100_000_000_000)),
        ]
        return Submission(
            .definition(name), input: input, queue: [nil, nil, "net", "mail", "nat"].randomElement(using: &random)!,
            priority: [nil, .high, .veryLow].randomElement(using: &random)!, after: after,
            start: starts.randomElement(using: &random)!)
    }
}
