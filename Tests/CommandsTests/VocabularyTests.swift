import ArgumentParser
import Foundation
import Jobs
import SQLite
import SQLiteInspection
import Testing

@testable import Commands

/// The table of words on the architecture page, compared with the names that users see: the columns of the views, the
/// properties of the OpenAPI document, the fields of `--json`, and the options and sentences of `--help`.
@Suite struct VocabularyTests {
    /// A name that users see, such as the column `due` of the view `jobs`.
    private struct Name: Hashable {
        var surface: String
        var text: String
    }

    private let vocabulary: Vocabulary
    private let schemas: [String: Set<String>]

    init() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = root.appending(path: "Sources/Daemon/Daemon.docc/Architecture.md")
        vocabulary = Vocabulary(page: try String(contentsOf: page, encoding: .utf8))
        let document = try JSONSerialization.jsonObject(
            with: Data(contentsOf: root.appending(path: "Sources/API/openapi.json")))
        let components = (document as? [String: Any])?["components"] as? [String: Any]
        schemas = try #require(components?["schemas"] as? [String: [String: Any]])
            .mapValues(Self.properties)
    }

    @Test func thePageNamesTheWordsThatAreNotUsed() {
        #expect(vocabulary.words.count > 30)
        #expect(vocabulary.avoided["task"] == "job")
        #expect(vocabulary.avoided.count > 20)
    }

    @Test func noNameContainsAWordThatAnotherReplaces() async throws {
        for name in try await columns() + properties() + (try await jsonFields()) {
            #expect(vocabulary.problem(in: name.text) == nil, "\(name.text) of \(name.surface)")
        }
    }

    @Test func noHelpContainsAWordThatAnotherReplaces() {
        for command in commands(Halyard.self) {
            let help = Halyard.helpMessage(for: command, includeHidden: true, columns: 1000)
            for line in help.split(separator: "\n") {
                #expect(vocabulary.problem(in: String(line)) == nil, "halyard \(command._commandName) --help: \(line)")
            }
        }
    }

    /// A column has the same name as the JSON field for the same fact, without the unit's suffix: `due_at` in JSON is
    /// `due` in a view.
    @Test func aColumnHasTheNameOfItsProperty() async throws {
        for column in try await columns() {
            let known = Self.properties(of: column.surface, in: schemas)
            #expect(
                known.contains(column.text),
                "The column \(column.text) of the view \(column.surface) has another name in the OpenAPI document.")
        }
    }

    @Test func aRenamedColumnIsFound() {
        let known = Self.properties(of: "jobs", in: schemas)
        #expect(known.contains("attempt") && known.contains("due"))
        for name in ["execution", "template", "lane", "due_at", "attempts"] { #expect(!known.contains(name)) }
        #expect(vocabulary.problem(in: "task_id") == "job")
        #expect(vocabulary.problem(in: "Lists all lanes.") == "queue")
    }

    @Test func theFieldsOfJSONAreProperties() async throws {
        let known = schemas.values.reduce(into: Self.fieldsOfCommands) { $0.formUnion($1) }
        for field in try await jsonFields() {
            #expect(known.contains(field.text), "\(field.surface) prints the field \(field.text).")
        }
    }

    /// Every other word in a name is listed, so that adding a word is deliberate and an existing word is preferred.
    @Test func theOtherWordsInNamesAreThese() async throws {
        let options = commands(Halyard.self).flatMap { command in
            Halyard.helpMessage(for: command, columns: 1000).split(separator: "\n").filter { $0.hasPrefix("  -") }
                .flatMap { $0.split { " ,".contains($0) }.prefix { $0.hasPrefix("-") } }.map(String.init)
        }
        let names = try await (columns() + properties() + jsonFields()).map(\.text) + options
        let words = Set(names.flatMap(Vocabulary.words)).subtracting(vocabulary.words)
        try Golden.expect(words.sorted().joined(separator: "\n") + "\n", "other-words.txt")
    }

    // MARK: Names

    /// Names of all properties in a schema, including nested objects.
    private static func properties(in schema: Any) -> Set<String> {
        if let schemas = schema as? [Any] { return Set(schemas.flatMap(properties)) }
        guard let schema = schema as? [String: Any] else { return [] }
        let own = schema["properties"] as? [String: Any] ?? [:]
        return Set(own.keys).union(schema.values.flatMap(properties)).union(own.values.flatMap(properties))
    }

    /// Names that a column of the view may have.
    private static func properties(of view: String, in schemas: [String: Set<String>]) -> Set<String> {
        let records: [String: (schemas: [String], more: Set<String>)] = [
            "jobs": (["Job", "Result"], ["seconds"]), "results": (["Job", "Result"], []),
            "attempts": (["Attempt", "Job"], ["seconds"]), "queues": (["Queue", "Counts"], ["queue"]),
            "graphs": (["Graph", "Counts"], ["state", "seconds"]), "waiting": (["Job"], ["reason"]),
            "definitions": (["Definition", "GraphDefinition", "DefinitionLine"], ["timeout_seconds", "body"]),
            "schedules": (["ScheduleRecord"], ["schedule", "state"]),
        ]
        guard let record = records[view] else { return [] }
        let properties = record.schemas.flatMap { schemas[$0] ?? [] }
        return record.more.union(
            properties.map { name in
                name.hasSuffix("_at") ? String(name.dropLast(3)) : name
            })
    }

    /// Fields that only the commands produce, not the API.
    private static let fieldsOfCommands: Set<String> = ["times", "removed", "reloaded"]

    private func columns() async throws -> [Name] {
        let shop = try await Workshop()
        let connection = try Connection(path: shop.database, access: .readOnly)
        var views: [String] = []
        let list = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
        while try list.step() { views.append(list.string(0)) }
        #expect(views.count >= 8)
        return try views.flatMap { view in
            let statement = try connection.prepare(SQL(trusted: "SELECT * FROM \(view)"))
            return (0..<statement.columnCount).map { Name(surface: view, text: statement.columnName($0)) }
        }
    }

    private func properties() -> [Name] {
        schemas.flatMap { schema, names in names.map { Name(surface: schema, text: $0) } }
    }

    private func commands(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        [command] + command.configuration.subcommands.flatMap(commands)
    }

    /// Names of the fields that the commands print with `--json`, without the contents of inputs and values.
    private func jsonFields() async throws -> [Name] {
        let shop = try await Workshop()
        let document = try shop.file(
            "definitions.yaml", "schedules: {nightly: {definition: unfurl, calendar: daily, input: {url: http://a/}}}\n"
        )
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=/srv/x")
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "broken", message: "It broke.")) }
        var names: Set<Name> = []
        for command in [
            "definitions apply \(document)", "enqueue unfurl http://c/", "list", "show 1", "show 3", "result 1",
            "why 1",
            "why 3", "graph", "graph 1", "status", "queues", "queues pause slow", "definitions",
            "definitions show unfurl",
            "definitions show save-link", "schedules", "schedules show nightly", "schedules pause nightly",
            "schedules next daily", "schedules remove nightly", "retry 1", "cancel graph:1", "queues set fast --create",
            "queues remove fast",
            "prune --yes --older-than 0s",
        ] {
            let run = try await shop.run(command.split(separator: " ").map(String.init) + ["--json"])
            guard !run.output.isEmpty else {
                Issue.record("halyard \(command) printed nothing: \(run.errors)")
                continue
            }
            let value = try JSONSerialization.jsonObject(with: Data(run.output.utf8), options: .fragmentsAllowed)
            collect(value, command.split(separator: " ").prefix(2).joined(separator: " "), into: &names)
        }
        return Array(names)
    }

    private func collect(_ value: Any, _ surface: String, into names: inout Set<Name>) {
        if let elements = value as? [Any] { for element in elements { collect(element, surface, into: &names) } }
        guard let object = value as? [String: Any] else { return }
        for (name, value) in object {
            names.insert(Name(surface: surface, text: name))
            if name != "input", name != "value" { collect(value, surface, into: &names) }
        }
    }
}

private struct Vocabulary {
    /// Words of all concepts.
    private(set) var words: Set<String> = []
    /// Words to avoid, each with its replacement.
    private(set) var avoided: [String: String] = [:]

    init(page: String) {
        for line in page.split(separator: "\n").drop(while: { !$0.hasPrefix("| word |") }).dropFirst(2) {
            guard line.hasPrefix("|") else { break }
            let cells = line.split(separator: "|").map { $0.split(separator: ", ").map(Self.phrase) }
            guard cells.count == 3 else { continue }
            words.formUnion(cells[0].flatMap { $0.split(separator: " ").map(String.init) })
            for phrase in cells[2] where !phrase.isEmpty { avoided[phrase] = cells[0].first }
        }
    }

    /// The replacement for the first avoided word in the text; nil if there is none.
    func problem(in text: String) -> String? {
        let text = " " + Self.phrase(text[...]) + " "
        return avoided.first { text.contains(" \($0.key) ") }?.value
    }

    static func words(in text: String) -> [String] {
        text.lowercased().split { !$0.isLetter }.map { word in
            if word.hasSuffix("ies") { return word.dropLast(3) + "y" }
            let isPlural = word.hasSuffix("s") && !word.hasSuffix("ss") && !word.hasSuffix("us") && word.count > 3
            return isPlural ? String(word.dropLast()) : String(word)
        }
    }

    private static func phrase(_ text: Substring) -> String { words(in: String(text)).joined(separator: " ") }
}
