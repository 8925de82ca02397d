import Foundation
import Jobs
import Moving
import SQLite
import Testing

@Suite(.enabled(if: hasServer, "PostgreSQL is not installed")) struct OlderSchemaTests {
    /// A file that an older release has written can be moved, with everything in it.
    @Test(arguments: 1...7)
    func aFileOfAnyReleaseCanBeMoved(schema: Int) async throws {
        try await Turns.shared.run {
            let both = try TwoDatabases()
            let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent()
            let dump = try String(
                contentsOf: folder.appending(path: "Fixtures/schema-\(schema).sql"), encoding: .utf8)
            do {
                let connection = try SQLite.Connection(path: both.path, access: .readWriteCreate)
                try connection.execute(SQL(trusted: dump))
                _ = try connection.text("PRAGMA journal_mode = WAL")
            }
            let there = try both.moveToServer()
            #expect(there.counts.total > 0)
            #expect(there.digests[.jobs]?.count == Int(there.counts.total))
            let back = try both.moveToFile()
            #expect(back.digests == there.digests)
        }
    }
}
