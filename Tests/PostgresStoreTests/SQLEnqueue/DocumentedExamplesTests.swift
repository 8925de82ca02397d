import Foundation
import Jobs
import PostgreSQL
import PostgresStore
import Testing

/// The statements in the documentation work as they are printed.
@Suite(.enabled(if: hasServer, "PostgreSQL is not installed"), .timeLimit(.minutes(10)))
struct DocumentedExamplesTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Sources/Daemon/Daemon.docc/ManyMachines.md")

    /// The blocks of one language in a section.
    private static func blocks(_ language: String, in section: String) throws -> [String] {
        let text = try String(contentsOf: page, encoding: .utf8)
        let start = try #require(text.firstRange(of: "\n## \(section)\n")).upperBound
        let end = text[start...].firstRange(of: "\n## ")?.lowerBound ?? text.endIndex
        return text[start..<end].split(separator: "```\(language)\n").dropFirst().map { part in
            String(part.prefix(upTo: part.firstRange(of: "```")?.lowerBound ?? part.endIndex))
        }
    }

    @Test func statementsThatEnqueue() async throws {
        try await Turns.shared.run {
            let ways = try await TwoWays()
            try await ways.store.change(
                DefinitionChange(graphs: [
                    GraphDefinition(
                        name: "save-link",
                        nodes: [
                            .init(name: "unfurl", definition: "unfurl"), .init(name: "log", definition: "log"),
                        ],
                        parameters: [
                            .init(name: "url", node: "unfurl", field: "url"),
                            .init(name: "to", node: "log", field: "what"),
                        ])
                ]), now: TwoWays.now)
            let connection = try ways.connect()
            try connection.run("CREATE TABLE link (address text)")
            let blocks = try Self.blocks("sql", in: "Enqueue in your own transaction")
            #expect(blocks.count == 2)
            for block in blocks { try connection.run(block) }
            let counts = try await ways.store.counts()
            #expect(counts[.ready] == 3)
            #expect(counts[.scheduled] == 1)
            await ways.close()
        }
    }
}
