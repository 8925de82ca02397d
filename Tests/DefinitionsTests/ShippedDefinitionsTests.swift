import Definitions
import Foundation
import Jobs
import Testing

/// The document in `config`.
@Suite struct ShippedDefinitionsTests {
    private static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "config/definitions.yaml")

    @Test func documentIsReadAndSurvivesItsExport() throws {
        let change = try DefinitionDocument.parse(String(contentsOf: Self.file, encoding: .utf8)).change
        #expect(change.queues.map(\.name) == ["default", "network", "upload"])
        #expect(change.definitions.map(\.name) == ["unfurl", "enrich", "upload"])
        #expect(change.graphs.map(\.name) == ["save-link"])
        let set = DefinitionSet().applying(change)
        let again = try DefinitionDocument.parse(DefinitionDocument.export(set)).change
        #expect(DefinitionSet().applying(again) == set)
    }
}
