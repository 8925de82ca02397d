import Definitions
import Foundation
import Jobs
import Kinds
import Testing

/// Tests `config/definitions.yaml`.
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

    @Test func everythingInItCanBeUsedWithTheKindsThereAre() throws {
        let change = try DefinitionDocument.parse(String(contentsOf: Self.file, encoding: .utf8)).change
        let empty = DefinitionSet(kinds: [Unfurl.description, Enrich.description, Upload.description])
        #expect(Catalog(empty).check(change) == [])

        let catalog = Catalog(empty.applying(change))
        let input = try catalog.input(
            for: "save-link", arguments: ["https://example.org/a", "https://example.org/b"],
            sets: [("enrich.max_size", "100KiB")])
        let plan = try catalog.plan(Submission(.definition("save-link"), input: input))
        #expect(plan.jobs.map(\.node) == ["unfurl", "enrich", "upload"])
        #expect(plan.jobs.map(\.queue) == ["network", "network", "upload"])
        #expect(
            plan.jobs.map { $0.input?.string } == [
                #"{"url":"https://example.org/a"}"#, #"{"max_size":"100KiB"}"#,
                #"{"content_type":"application/json","to":"https://example.org/b"}"#,
            ])
    }

    @Test(arguments: [
        ("unfurl", #"{"url":"not a url"}"#, "\"url\" must be an address that begins with http:// or https://"),
        ("unfurl", #"{"max_redirects":51}"#, "\"max_redirects\" must be from 0 to 50, found 51"),
        (
            "unfurl", #"{"timeout":"0s"}"#,
            "\"timeout\" is \"0s\"; write a number with a unit (ms, s, m, h, d) of at least 1ms"
        ),
        ("enrich", #"{"url":"ftp://h/"}"#, "\"url\" must be an address"),
        (
            "enrich", #"{"max_size":-5}"#,
            "\"max_size\" is \"-5\"; write a number with a unit (B, KiB, MiB, GiB, TiB) from 1B to 2MiB"
        ),
        ("enrich", #"{"max_size":"3MiB"}"#, "\"max_size\" is \"3MiB\"; write a number with a unit"),
        ("enrich", #"{"max_size":"5MB"}"#, "\"max_size\" is \"5MB\"; write a number with a unit"),
        ("enrich", #"{"max_size":1.5}"#, "\"max_size\" must be a size such as 100KiB, found a number"),
        ("enrich", #"{"max_redirects":-1}"#, "\"max_redirects\" must be from 0 to 50, found -1"),
        ("enrich", #"{"timeout":"60"}"#, "\"timeout\" is \"60\"; write a number with a unit"),
        ("enrich", #"{"timeout":60}"#, "\"timeout\" must be a duration such as 30s, found a number"),
        ("upload", #"{"to":"example.org"}"#, "\"to\" must be an address"),
        ("upload", #"{"method":"PATCH"}"#, "\"method\" must be one of PUT, POST"),
        (
            "upload", #"{"max_rate":0}"#,
            "\"max_rate\" is \"0\"; write a number with a unit (B, KiB, MiB, GiB, TiB) of at least 1B"
        ),
        ("upload", #"{"timeout":"-1s"}"#, "\"timeout\" is \"-1s\"; write a number with a unit"),
    ])
    func defaultsThatNoJobCouldUseAreRefused(kind: String, input: String, message: String) {
        let kinds = DefinitionSet(kinds: [Unfurl.description, Enrich.description, Upload.description])
        let definition = Definition(name: "mine", kind: kind, input: JSONText(trusted: Array(input.utf8)))
        let problems = Catalog(kinds).check(DefinitionChange(definitions: [definition])).map(\.description)
        #expect(problems.count == 1)
        #expect(problems.first?.contains(message) == true, "\(problems)")
    }

    @Test func linkThatAnUploadCannotGiveIsRefusedWithBothTypes() {
        let kinds = [Unfurl.description, Enrich.description, Upload.description]
        let definitions = kinds.map { Definition(name: $0.name, kind: $0.name) }
        let graph = GraphDefinition(
            name: "backwards",
            nodes: [
                .init(name: "upload", definition: "upload"),
                .init(name: "unfurl", definition: "unfurl", after: [.init(node: "upload")]),
            ])
        #expect(
            Catalog(DefinitionSet(kinds: kinds)).check(DefinitionChange(definitions: definitions, graphs: [graph]))
                .map(\.description) == [
                    #"graph "backwards": node "unfurl" is missing the field "url" and accepts Link, but node "upload" offers Upload.Output; set the field, or add a dependency that offers Link"#
                ])
    }
}
