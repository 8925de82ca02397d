import Samples
import Testing
import WebSyntax

@testable import Pages

@Suite struct GoldenDocumentTests {
    /// A document that is cut off anywhere still has a result.
    @Test(arguments: GoldenDocument.all) func documentCutAnywhereNeverTraps(golden: GoldenDocument) throws {
        let url = try WebURL(parsing: "https://example.org" + golden.path)
        let type = golden.headers.first { $0.0 == "content-type" }?.1
        let step = max(1, golden.document.count / 60)
        for count in stride(from: 0, to: golden.document.count, by: step) {
            let output = DocumentMetadata(of: Array(golden.document[..<count]), url: url, contentType: type)
            #expect(output.bytes == count)
        }
    }

    @Test func goldenDocumentsAreMany() { #expect(GoldenDocument.all.count >= 150) }
}
