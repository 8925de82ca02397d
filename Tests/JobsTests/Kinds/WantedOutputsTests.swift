import OperationTypes
import Testing

@testable import Jobs

/// A kind asks for no more of its dependencies than becomes its input.
@Suite struct WantedOutputsTests {
    private struct Page: Codable, Sendable { var text = "" }
    private struct Failure: OperationFailure {
        var code: String { "no" }
        var isRetryable: Bool { false }
        var description: String { "no" }
    }
    private struct Input: Codable, Sendable {}

    /// Offers a page, takes nothing.
    private struct Fetch: Kind {
        static let name = "fetch"
        static let summary = ""
        static let inputFields: [InputField] = []
        func run(_ input: Input, context: OperationContext) async throws(Failure) -> Page { Page() }
    }

    /// Takes one page, offers a list of them.
    private struct Follow: Kind {
        static let name = "follow"
        static let summary = ""
        static let inputFields: [InputField] = []
        static func accept(_ value: Page, into input: inout Input) {}
        func run(_ input: Input, context: OperationContext) async throws(Failure) -> [Page] { [] }
    }

    /// Takes pages, from lists or one by one.
    private struct Collect: Kind {
        static let name = "collect"
        static let summary = ""
        static let inputFields: [InputField] = []
        static func accept(_ value: [Page], into input: inout Input) {}
        func run(_ input: Input, context: OperationContext) async throws(Failure) -> Int { 0 }
    }

    private struct Keep: Kind {
        static let name = "keep"
        static let summary = ""
        static let inputFields: [InputField] = []
        static func accept(_ value: AnyOutput, into input: inout Input) {}
        func run(_ input: Input, context: OperationContext) async throws(Failure) -> Int { 0 }
    }

    @Test(arguments: [
        ("fetch", nil), ("follow", WantedOutputs(kinds: ["fetch"], onlyFirst: true)),
        ("collect", WantedOutputs(kinds: ["fetch", "follow"])), ("keep", WantedOutputs(onlyFirst: true)),
    ])
    func onlyWhatFitsIsWanted(_ name: String, _ wanted: WantedOutputs?) throws {
        let kinds = try KindRegistry([Fetch(), Follow(), Collect(), Keep()])
        #expect(try #require(kinds[name]).description.wantedOutputs(among: kinds) == wanted)
    }
}
