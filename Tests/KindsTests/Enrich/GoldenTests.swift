import Foundation
import OperationTypes
import Samples
import Servers
import Testing
import Web

@testable import Kinds

/// Runs `enrich` on the golden documents, served over loopback.
@Suite(.serialized) struct GoldenTests {
    private func run(_ golden: GoldenDocument) async throws -> (output: [String: Any], origin: String) {
        try await LoopbackServer.with { _ in
            .respond(golden.status, golden.headers, golden.document)
        } _: { server in
            try await withClient { client in
                let result: Data
                do {
                    let output = try await Enrich(client: client).result(
                        Enrich.Input(url: server.origin + golden.path, measuresImage: false))
                    result = try JSONEncoder().encode(output)
                } catch let failure as KindFailure {
                    result = try JSONSerialization.data(withJSONObject: ["failure": failure.code])
                }
                let object = try JSONSerialization.jsonObject(with: result) as? [String: Any]
                return (try #require(object), server.origin)
            }
        }
    }

    @Test(arguments: GoldenDocument.all) func documentSaysWhatItShould(golden: GoldenDocument) async throws {
        let (output, origin) = try await run(golden)
        let text = String(decoding: golden.expected, as: UTF8.self).replacing("{origin}", with: origin)
            .replacing(#"{origin}"#.replacing("/", with: #"\/"#), with: origin)
        let expected = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (field, value) in expected {
            let found = output[field]
            // Only the listed sources and confidences are compared.
            if let value = value as? [String: String], let found = found as? [String: String],
                field == "sources" || field == "confidence"
            {
                for (name, one) in value { #expect(found[name] == one, "\(golden.name): \(field).\(name)") }
            } else if value is NSNull {
                #expect(found == nil, "\(golden.name): \(field)")
            } else {
                #expect(
                    (found as? NSObject) == (value as? NSObject),
                    "\(golden.name): \(field) is \(String(describing: found)), not \(value)")
            }
        }
        // Every field with a source has a confidence and a value, and no other field has a confidence.
        let sources = output["sources"] as? [String: String] ?? [:]
        #expect(Set(sources.keys) == Set((output["confidence"] as? [String: String] ?? [:]).keys))
        for field in sources.keys { #expect(output[field] != nil, "\(golden.name): \(field)") }
    }
}
