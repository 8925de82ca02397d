import Foundation
import Testing

/// A small document made by hand, for one source of one field or for one way that goes wrong.
///
/// Beside each stands what it must give, and why; `{origin}` is the server. Fields that are not named are not compared, and
/// null says that a field must not be there.
package struct GoldenDocument: Sendable, CustomTestStringConvertible {
    package var name: String
    package var why: String
    package var document: [UInt8]
    package var path: String
    package var status: Int
    package var headers: [(String, String)]
    /// JSON.
    package var expected: Data

    package var testDescription: String { "\(name): \(why)" }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")

    package static let all: [GoldenDocument] = {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
                .sorted()
                .map { try golden($0) }
        } catch {
            Issue.record(error)
            return []
        }
    }()

    private static func golden(_ name: String) throws -> GoldenDocument {
        let data = try Data(contentsOf: folder.appending(path: name))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let file = try #require(object["file"] as? String)
        var headers = (object["headers"] as? [String: String] ?? [:]).map { ($0.key, $0.value) }
        if let type = object["content_type"] as? String { headers.append(("content-type", type)) }
        return GoldenDocument(
            name: String(name.dropLast(5)), why: object["why"] as? String ?? "",
            document: [UInt8](try Data(contentsOf: folder.appending(path: file))),
            path: object["path"] as? String ?? "/", status: object["status"] as? Int ?? 200, headers: headers,
            expected: try JSONSerialization.data(withJSONObject: #require(object["expect"])))
    }
}
