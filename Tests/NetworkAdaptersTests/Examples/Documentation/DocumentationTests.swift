import Foundation
import Testing

@Suite struct DocumentationTests {
    @Test func everyExampleOfTheArticlesIsCompiled() throws {
        let here = URL(fileURLWithPath: #filePath)
        let compiled = try ["DocumentationExamples.swift", "PublisherExamples.swift"].map { name in
            try lines(of: here.deletingLastPathComponent().appendingPathComponent(name)).joined(separator: "\n")
        }
        let root = here.deletingLastPathComponent().appendingPathComponent("../../../..").standardizedFileURL
        var examples = 0
        for module in ["Operations", "OperationsCompatibility", "NetworkAdapters", "NetworkOperations"] {
            let folder = root.appendingPathComponent("Sources/\(module)/\(module).docc")
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".md") {
                for example in try self.examples(in: folder.appendingPathComponent(name)) {
                    examples += 1
                    #expect(compiled.contains { $0.contains(example) }, "\(name)")
                }
            }
        }
        #expect(examples >= 30)
    }

    private func examples(in article: URL) throws -> [String] {
        var examples: [String] = []
        var current: [String]?
        for line in try lines(of: article) {
            if line == "```swift" {
                current = []
            } else if line == "```", let example = current {
                examples.append(example.joined(separator: "\n"))
                current = nil
            } else {
                current?.append(line)
            }
        }
        return examples
    }

    private func lines(of file: URL) throws -> [String] {
        try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
