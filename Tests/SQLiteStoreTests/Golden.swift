import Foundation
import Testing

/// Compares with `Golden/<name>.txt`; with `HALYARD_UPDATE_GOLDEN=1` it writes the file instead, and fails.
func expectGolden(_ found: String, _ name: String, _ location: SourceLocation = #_sourceLocation) {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/\(name).txt")
    do {
        if ProcessInfo.processInfo.environment["HALYARD_UPDATE_GOLDEN"] == "1" {
            try found.write(to: file, atomically: true, encoding: .utf8)
            Issue.record("\(name).txt was written; look at it and run again", sourceLocation: location)
            return
        }
        let expected = try String(contentsOf: file, encoding: .utf8)
        #expect(found == expected, sourceLocation: location)
    } catch {
        Issue.record(error, sourceLocation: location)
    }
}
