import Jobs
import OperationTypes

struct TestFailure: OperationFailure {
    var code = "broken"
    var isRetryable = true
    var retryAfterMs: Int64?
    var retryAfter: Duration? { retryAfterMs.map { .milliseconds($0) } }
    var description: String { "it broke (\(code))" }
}

/// Does what the test says.
struct Scripted: Kind {
    typealias Body = @Sendable (JSONText, JobContext) async throws(TestFailure) -> JSONText

    static let name = "scripted"
    static let summary = "Does what the test says."
    static let inputFields: [InputField] = []
    let body: Body

    func run(_ input: JSONText, job: JobContext) async throws(TestFailure) -> JSONText { try await body(input, job) }
    func run(_ input: JSONText, context: OperationContext) async throws(TestFailure) -> JSONText { input }
}

/// Gives a link, and reads one.
struct MakeLink: Kind {
    struct Input: Codable, Sendable { var url: String }
    static let name = "make-link"
    static let summary = "Gives a link."
    static let inputFields = [InputField("url", .string, isRequired: true, summary: "The link.")]
    static func offer(_ output: Input) -> Link { Link(url: output.url) }
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> Input { input }
}

struct ReadLinks: Kind {
    struct Input: Codable, Sendable { var links: [Link]? }
    static let name = "read-links"
    static let summary = "Lists the links of all dependencies."
    static let inputFields = [InputField("links", .array, isFromDependency: true, summary: "The links.")]
    static func accept(_ value: [Link], into input: inout Input) { input.links = input.links ?? value }
    func run(_ input: Input, context: OperationContext) async throws(TestFailure) -> [String] {
        (input.links ?? []).map(\.url)
    }
}
