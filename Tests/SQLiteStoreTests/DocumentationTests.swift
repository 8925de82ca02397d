import Foundation
import SQLite
import Testing

@testable import SQLiteStore

@Suite struct DocumentationTests {
    /// The SQL of the article about the schema, block by block.
    private static var queries: [String] {
        let article = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/SQLiteStore/SQLiteStore.docc/Schema.md")
        guard let text = try? String(contentsOf: article, encoding: .utf8) else { return [] }
        return text.components(separatedBy: "```sql\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }

    @Test func everyQueryOfTheArticleRuns() throws {
        let connection = try Connection(path: ":memory:", access: .readWriteCreate)
        for migration in Migration.all { try migration.run(on: connection) }
        let queries = Self.queries
        // Without the article there would be nothing to fail.
        #expect(queries.count >= 8)
        for query in queries { #expect(throws: Never.self) { try connection.execute(SQL(trusted: query)) } }
    }
}
