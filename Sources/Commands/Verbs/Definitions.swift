import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Definitions: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "definitions", abstract: "Apply, list, show, remove and export definitions.",
            subcommands: [List.self, Show.self, Apply.self, Remove.self, Export.self], defaultSubcommand: List.self)

        struct List: Verb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List definitions and graph definitions.")

            @Flag(help: "Print only the names, one per line; with --json as an array.")
            var names = false

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                let set = try await Session.with(common, for: .reading, in: surroundings) {
                    try await $0.control.definitions()
                }
                let all = set.definitions.map(\.definition.name) + set.graphs.map(\.definition.name)
                if names, common.json {
                    try surroundings.output.json(JSONText(elements: all.map { JSONText(string: $0) }))
                } else if names {
                    for name in all { try surroundings.output.line("\(name)") }
                } else if common.json {
                    try surroundings.output.json(set.json)
                } else {
                    try surroundings.output.table(DefinitionText.table(set))
                }
                return .success
            }
        }

        struct Show: Verb {
            static let configuration = CommandConfiguration(
                commandName: "show",
                abstract: "Show a definition with its input fields, or a graph definition with its nodes.")

            @Argument(help: "The name.", completion: .names(.definitions), transform: NameArgument.read)
            var name: String

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                let set = try await Session.with(common, for: .reading, in: surroundings) {
                    try await $0.control.definitions()
                }
                let (output, now) = (surroundings.output, surroundings.now())
                if let stored = set.definitions.first(where: { $0.definition.name == name }) {
                    let kind = set.kinds.first { $0.name == stored.definition.kind }
                    if common.json {
                        try output.json(stored.json)
                    } else {
                        try DefinitionText.write(stored, kind: kind, now: now, to: output)
                    }
                } else if let stored = set.graphs.first(where: { $0.definition.name == name }) {
                    if common.json {
                        try output.json(stored.json)
                    } else {
                        try DefinitionText.write(stored, now: now, to: output)
                    }
                } else {
                    throw UnknownName.definition(name, in: set)
                }
                return .success
            }
        }

        struct Apply: Verb {
            static let configuration = CommandConfiguration(
                commandName: "apply", abstract: "Check a YAML document and write all its definitions, or none.",
                discussion: "Prints what changes: + added, ~ changed, = unchanged.")

            @Argument(help: "The document; - is standard input.", completion: .file(extensions: ["yaml", "yml"]))
            var file: String

            @Flag(help: "Only check, and show what would change.")
            var dryRun = false

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                let source = try InputFile(file, in: surroundings)
                let document = try source.readText(limit: 16 << 20)
                return try await Session.with(common, for: .writing, in: surroundings) { session in
                    let lines = try await session.control.apply(document, dryRun: dryRun)
                    if common.json {
                        try surroundings.output.json(lines.json)
                    } else {
                        for line in lines {
                            for text in DefinitionText.difference(line) { try surroundings.output.line(text) }
                        }
                    }
                    for line in lines {
                        if let warning = line.warning { try surroundings.note("\(line.type) \(line.name): \(warning)") }
                    }
                    if lines.isEmpty {
                        try surroundings.note("nothing to change: the document is empty")
                    } else if dryRun {
                        try surroundings.note("nothing was written (--dry-run)")
                    } else {
                        try session.noteWritten(in: surroundings)
                    }
                    return .success
                }
            }
        }

        struct Remove: Verb {
            static let configuration = CommandConfiguration(
                commandName: "remove", abstract: "Remove definitions; jobs already enqueued with them still run.",
                discussion: Removal.promise)

            @Argument(help: "The name.", completion: .names(.definitions), transform: NameArgument.read)
            var name: [String]

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                try await Removal(common, surroundings).remove(
                    "definition", name,
                    known: {
                        let set = try await $0.definitions()
                        return set.definitions.map(\.definition.name) + set.graphs.map(\.definition.name)
                    }
                ) { name, control in try await control.removeDefinition(name) }
            }
        }

        struct Export: Verb {
            static let configuration = CommandConfiguration(
                commandName: "export", abstract: "Print all definitions as a YAML document that apply accepts.")

            @OptionGroup var common: CommonOptions

            func run(in surroundings: Surroundings) async throws -> ExitCode {
                let document = try await Session.with(common, for: .reading, in: surroundings) {
                    try await $0.control.exportDefinitions()
                }
                if common.json {
                    try surroundings.output.json(JSONText(string: document))
                } else {
                    try surroundings.output.document(document)
                }
                return .success
            }
        }
    }
}
