import FoundationEssentials
import Jobs
import Testing
import WebSyntax

@testable import Kinds
@testable import Web

/// `Unfurl.Output` writes its JSON without an encoder.
@Suite struct UnfurlOutputTests {
    private static let asked: Hop = {
        var hop = Hop(unasked: url("http://127.0.0.1:8080/a?b=c"))
        (hop.method, hop.status, hop.address, hop.version) = ("HEAD", 301, "127.0.0.1", "1.1")
        (hop.durationMs, hop.via) = (12, .location)
        return hop
    }()

    private static func url(_ text: String) -> WebURL {
        guard let url = try? WebURL(parsing: text) else { preconditionFailure("\(text) is an address") }
        return url
    }

    static let outputs = [
        Unfurl.Output(
            finalURL: "http://a.example/", status: 200, cleanedURL: "http://a.example/", isDowngraded: false, hops: []),
        Unfurl.Output(
            finalURL: "https://é.example/?q=\"\\\u{8}\u{1F}\n\r\t/", status: 404,
            contentType: "text/html; charset=\"x\"",
            canonicalURL: "https://a.example/b", cleanedURL: "https://a.example/c", title: "Über 🎉 \u{2028}\u{7F}",
            isDowngraded: true, hops: [asked, Hop(unasked: url("https://b.example/")), asked]),
    ]

    @Test(arguments: outputs)
    func outputIsWrittenAsTheEncoderWritesIt(output: Unfurl.Output) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let encoded = try JSONText(checking: Array(encoder.encode(output)))
        let written = try JSONText(checking: output.json.bytes)
        #expect(try JSONDecoder().decode(Unfurl.Output.self, from: Data(written.bytes)) == output)
        #expect(fieldNames(written) == fieldNames(encoded))
        let hops = { (text: JSONText) in JSONObject(text)?["hops"]?.elements?.map(fieldNames) }
        #expect(hops(written) == hops(encoded))
    }

    private func fieldNames(_ text: JSONText) -> [String] { JSONObject(text)?.fields.map(\.name) ?? [] }
}
