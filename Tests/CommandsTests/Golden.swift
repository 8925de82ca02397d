import Foundation
import Testing

/// Compares output that users rely on with files. `HALYARD_UPDATE_GOLDEN=1` rewrites the files for review.
enum Golden {
    static func expect(_ text: String, _ name: String, _ location: SourceLocation = #_sourceLocation) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
        let file = folder.appending(path: name)
        if ProcessInfo.processInfo.environment["HALYARD_UPDATE_GOLDEN"] == "1" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
            return
        }
        let expected = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        guard text != expected else { return }
        let found = text.split(separator: "\n", omittingEmptySubsequences: false)
        let wanted = expected.split(separator: "\n", omittingEmptySubsequences: false)
        let line = zip(found, wanted).prefix { $0 == $1 }.count
        Issue.record(
            """
            \(name) differs at line \(line + 1)
            wanted: \(line < wanted.count ? wanted[line] : "the end")
            found:  \(line < found.count ? found[line] : "the end")
            """, sourceLocation: location)
    }
}
