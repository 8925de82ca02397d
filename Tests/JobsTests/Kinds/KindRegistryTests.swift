import Jobs
import OperationTypes
import Testing

@Suite struct KindRegistryTests {
    @Test func explicitFieldsLieOverTheDefaults() async throws {
        let payload = JobPayload(defaults: try object(#"{"a":1,"b":"default"}"#), explicit: try text(#"{"b":"mine"}"#))
        #expect(await run("pair", payload) == #"{"a":1,"b":"mine"}"#)
    }

    @Test func defaultsAloneAreAnInput() async throws {
        #expect(await run("pair", JobPayload(defaults: try object(#"{"a":1,"b":"x"}"#))) == #"{"a":1,"b":"x"}"#)
    }

    @Test func kindThatAcceptsItsInputTakesTheWholeOutput() async throws {
        let payload = JobPayload(dependencies: [try output("pair", #"{"a":7,"b":"whole"}"#)])
        #expect(await run("pair", payload) == #"{"a":7,"b":"whole"}"#)
    }

    @Test func ownFieldsLieOverTheWholeOutput() async throws {
        let payload = JobPayload(
            explicit: try text(#"{"b":"mine"}"#), dependencies: [try output("pair", #"{"a":7,"b":"whole"}"#)])
        #expect(await run("pair", payload) == #"{"a":7,"b":"mine"}"#)
    }

    @Test func firstDependencyInOrderThatFitsIsAccepted() async throws {
        let payload = JobPayload(dependencies: [
            try output("pair", #"{"a":1,"b":"no link"}"#),
            DependencyOutput(dependency: JobID(2), kind: "link", output: nil),
            try output("link", #"{"to":"https://one"}"#), try output("link", #"{"to":"https://two"}"#),
        ])
        #expect(await run("visit", payload) == #"{"url":"https://one"}"#)
    }

    @Test func explicitInputWinsOverADependency() async throws {
        let payload = JobPayload(
            explicit: try text(#"{"url":"https://mine"}"#), dependencies: [try output("link", #"{"to":"https://one"}"#)]
        )
        #expect(await run("visit", payload) == #"{"url":"https://mine"}"#)
    }

    @Test func listTakesAllThatFitInOrder() async throws {
        let payload = JobPayload(dependencies: [
            try output("link", #"{"to":"b"}"#), try output("pair", #"{"a":1,"b":"x"}"#),
            try output("link", #"{"to":"a"}"#),
        ])
        #expect(await run("collect", payload) == #"["b","a"]"#)
    }

    @Test func listOfADependencyIsTakenAsItIs() async throws {
        let payload = JobPayload(dependencies: [try output("links", #"[{"url":"x"},{"url":"y"}]"#)])
        #expect(await run("collect", payload) == #"["x","y"]"#)
    }

    @Test func anyOutputTakesTheFirstWithOneByteForByte() async throws {
        let payload = JobPayload(dependencies: [
            DependencyOutput(dependency: JobID(1), kind: "pair", output: nil),
            try output("unknown here", #"{ "z": 1.50 }"#),
        ])
        #expect(await run("raw", payload) == #"{ "z": 1.50 }"#)
    }

    @Test func inputThatDoesNotFitIsNotWorthARetry() async throws {
        for (explicit, reason) in [
            (#"{"a":1}"#, #"the field "b" is missing"#),
            (#"{"a":"x","b":"y"}"#, #"the field "a" is not of the type Int"#),
            (#"5"#, "the whole value"), (#"{"a":null,"b":"y"}"#, #"the field "a" is null"#),
        ] {
            let failed = await failure("pair", JobPayload(explicit: try text(explicit)))
            #expect(failed?.failure.code == "invalid_input")
            #expect(failed?.isRetryable == false)
            #expect(failed?.failure.message.contains(reason) == true, "\(failed?.failure.message ?? "")")
        }
    }

    @Test func outputWithoutAFormInJSONIsAFailure() async throws {
        #expect(await failure("nan", JobPayload(explicit: .emptyObject))?.failure.code == "invalid_output")
    }

    @Test func failureKeepsCodeMessageDetailAndWait() async throws {
        let failed = await failure("refuse", JobPayload())
        let expected = TryFailure(
            JobFailure(code: "refused", message: "refused with 503", detail: try text(#"{"status":503}"#)),
            isRetryable: true, retryAfter: .seconds(7))
        #expect(failed == expected)
    }

    @Test func twoKindsOfOneNameAreRefused() {
        #expect(throws: KindRegistryProblem.duplicate("pair")) { try KindRegistry([Pair(), Pair()]) }
    }

    @Test func descriptionsNameListsByTheirElements() throws {
        let descriptions = try registry().descriptions
        #expect(descriptions.map(\.name) == ["collect", "link", "links", "nan", "pair", "raw", "refuse", "visit"])
        #expect(descriptions[0].accepts == "[Link]")
        #expect(descriptions[0].accepts(outputOf: descriptions[1]))
        #expect(descriptions[0].accepts(outputOf: descriptions[2]))
        #expect(!descriptions[0].accepts(outputOf: descriptions[4]))
    }

    // MARK: -

    private func registry() throws -> KindRegistry {
        try KindRegistry([Pair(), LinkMaker(), LinksMaker(), Visit(), Collect(), Raw(), Refuse(), NotANumber()])
    }

    private func result(_ kind: String, _ payload: JobPayload) async -> Result<JSONText, TryFailure>? {
        let context = JobContext(lease: Lease(job: JobID(1), attempt: 1), operation: OperationContext()) { _ in }
        guard let registry = try? registry() else { return nil }  // a nil result fails the test
        return await registry[kind]?.run(payload, job: context, kinds: registry)
    }

    private func run(_ kind: String, _ payload: JobPayload) async -> String? {
        switch await result(kind, payload) {
        case .success(let output): output.string
        case .failure(let failed): "\(failed)"
        case nil: nil
        }
    }

    private func failure(_ kind: String, _ payload: JobPayload) async -> TryFailure? {
        if case .failure(let failed) = await result(kind, payload) { return failed }
        return nil
    }

    private func text(_ json: String) throws -> JSONText { try JSONText(checking: Array(json.utf8)) }
    private func object(_ json: String) throws -> JSONObject { try #require(JSONObject(try text(json))) }
    private func output(_ kind: String, _ json: String) throws -> DependencyOutput {
        DependencyOutput(dependency: JobID(1), kind: kind, output: try text(json))
    }
}

private struct Refused: OperationFailure {
    var status = 503
    var code: String { "refused" }
    var isRetryable: Bool { true }
    var retryAfter: Duration? { .seconds(7) }
    var description: String { "refused with \(status)" }
}

private protocol PlainKind: Kind where Failure == Refused {}
extension PlainKind {
    static var summary: String { "" }
    static var inputFields: [InputField] { [] }
}

private struct Pair: PlainKind {
    struct Both: Codable, Sendable {
        var a: Int
        var b: String
    }
    static let name = "pair"
    typealias Accepted = Both
    static func accept(_ value: Both, into input: inout Both) {}
    func run(_ input: Both, context: OperationContext) async throws(Refused) -> Both { input }
}

private struct LinkMaker: PlainKind {
    struct Output: Codable, Sendable { var to: String }
    static let name = "link"
    static func offer(_ output: Output) -> Link { Link(url: output.to) }
    func run(_ input: Output, context: OperationContext) async throws(Refused) -> Output { input }
}

private struct LinksMaker: PlainKind {
    static let name = "links"
    func run(_ input: [Link], context: OperationContext) async throws(Refused) -> [Link] { input }
}

private struct Visit: PlainKind {
    struct Input: Codable, Sendable { var url: String? }
    static let name = "visit"
    static func accept(_ value: Link, into input: inout Input) { input.url = input.url ?? value.url }
    func run(_ input: Input, context: OperationContext) async throws(Refused) -> Input { input }
}

private struct Collect: PlainKind {
    struct Input: Codable, Sendable { var links: [Link]? }
    static let name = "collect"
    static func accept(_ value: [Link], into input: inout Input) { input.links = input.links ?? value }
    func run(_ input: Input, context: OperationContext) async throws(Refused) -> [String] {
        (input.links ?? []).map(\.url)
    }
}

private struct Raw: PlainKind {
    static let name = "raw"
    static func accept(_ value: AnyOutput, into input: inout JSONText) {
        input = JSONText(trusted: Array(value.json.utf8))
    }
    func run(_ input: JSONText, context: OperationContext) async throws(Refused) -> JSONText { input }
}

private struct Refuse: PlainKind {
    struct Input: Codable, Sendable {}
    static let name = "refuse"
    func run(_ input: Input, context: OperationContext) async throws(Refused) -> Input { throw Refused() }
}

private struct NotANumber: PlainKind {
    struct Input: Codable, Sendable {}
    static let name = "nan"
    func run(_ input: Input, context: OperationContext) async throws(Refused) -> Double { .nan }
}
