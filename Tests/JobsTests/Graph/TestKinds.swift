import Jobs
import OperationTypes

struct TestFailure: OperationFailure {
    var code: String { "test" }
    var isRetryable: Bool { false }
    var description: String { "test" }
}

struct Page: Codable, Sendable { var text: String }

struct Find: Kind {
    struct Input: Codable, Sendable { var query: String }
    static let name = "find"
    static let summary = "Finds a link"
    static let inputFields = [InputField("query", .string, isRequired: true, summary: "")]
    static func offer(_ output: String) -> Link { Link(url: output) }
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> String { input.query }
}

struct Fetch: Kind {
    struct Input: Codable, Sendable { var url: String? }
    static let name = "fetch"
    static let summary = "Fetches a page"
    static let inputFields = [
        InputField("url", .string, isRequired: true, isFromDependency: true, summary: "")
    ]
    static func accept(_ value: Link, into input: inout Input) { input.url = value.url }
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> Page { Page(text: "") }
}

struct Cached: Kind {
    struct Input: Codable, Sendable { var age: Double? }
    static let name = "cached"
    static let summary = "Has a page"
    static let inputFields = [InputField("age", .number, summary: "")]
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> Page { Page(text: "") }
}

struct Gather: Kind {
    struct Input: Codable, Sendable { var pages: [Page]? }
    static let name = "gather"
    static let summary = "Takes all pages"
    static let inputFields = [
        InputField("pages", .array, isRequired: true, isFromDependency: true, summary: "")
    ]
    static func accept(_ value: [Page], into input: inout Input) { input.pages = value }
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> Int { input.pages?.count ?? 0 }
}

struct Keep: Kind {
    struct Input: Codable, Sendable {
        var to: String
        var body: String?
    }
    static let name = "keep"
    static let summary = "Keeps anything"
    static let inputFields = [
        InputField("to", .string, isRequired: true, summary: ""),
        InputField("body", .string, isRequired: true, isFromDependency: true, summary: ""),
    ]
    static func accept(_ value: AnyOutput, into input: inout Input) { input.body = value.json }
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> String { input.to }
}
