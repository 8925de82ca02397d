import Foundation
import OperationTypes
import Testing

@testable import Kinds

/// Small documents made by hand, each for one source of one field or for one way that goes wrong, served over loopback.
///
/// Beside each stands what it must give, and why; `{origin}` is the server. Fields that are not named are not compared, and
/// null says that a field must not be there.
@Suite(.serialized) struct GoldenTests {
    struct Golden: Sendable, CustomTestStringConvertible {
        var name: String
        var why: String
        var document: [UInt8]
        var path: String
        var status: Int
        var headers: [(String, String)]
        /// JSON.
        var expected: Data

        var testDescription: String { "\(name): \(why)" }
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    static let all: [Golden] = {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
                .sorted()
                .map { try golden($0) }
        } catch {
            Issue.record(error)
            return []
        }
    }()

    private static func golden(_ name: String) throws -> Golden {
        let data = try Data(contentsOf: folder.appending(path: name))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let file = try #require(object["file"] as? String)
        var headers = (object["headers"] as? [String: String] ?? [:]).map { ($0.key, $0.value) }
        if let type = object["content_type"] as? String { headers.append(("content-type", type)) }
        return Golden(
            name: String(name.dropLast(5)), why: object["why"] as? String ?? "",
            document: [UInt8](try Data(contentsOf: folder.appending(path: file))),
            path: object["path"] as? String ?? "/", status: object["status"] as? Int ?? 200, headers: headers,
            expected: try JSONSerialization.data(withJSONObject: #require(object["expect"])))
    }

    private func run(_ golden: Golden) async throws -> (output: [String: Any], origin: String) {
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

    @Test(arguments: all) func documentSaysWhatItShould(golden: Golden) async throws {
        let (output, origin) = try await run(golden)
        let text = String(decoding: golden.expected, as: UTF8.self).replacing("{origin}", with: origin)
            .replacing(#"{origin}"#.replacing("/", with: #"\/"#), with: origin)
        let expected = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        for (field, value) in expected {
            let found = output[field]
            // Of sources and confidences only those named are compared.
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
        // What has a source is there, and the other way round.
        let sources = output["sources"] as? [String: String] ?? [:]
        #expect(Set(sources.keys) == Set((output["confidence"] as? [String: String] ?? [:]).keys))
        for field in sources.keys { #expect(output[field] != nil, "\(golden.name): \(field)") }
    }

    /// A document that is cut off at any place still gives an answer.
    @Test(arguments: all) func documentCutAnywhereNeverTraps(golden: Golden) throws {
        let url = try WebURL(parsing: "https://example.org" + golden.path)
        let type = golden.headers.first { $0.0 == "content-type" }?.1
        let step = max(1, golden.document.count / 60)
        for count in stride(from: 0, to: golden.document.count, by: step) {
            let output = Enrich.describe(Array(golden.document[..<count]), url: url, contentType: type)
            #expect(output.bytes == count)
        }
    }

    @Test func goldenDocumentsAreMany() { #expect(Self.all.count >= 150) }
}
