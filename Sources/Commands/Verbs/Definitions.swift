import ArgumentParser
import ControlProtocol
import Jobs

extension Halyard {
    struct Definitions: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "definitions", abstract: "Apply, list, show, remove and export definitions.",
            subcommands: [List.self, Show.self, Apply.self, Remove.self, Export.self], defaultSubcommand: List.self)

        struct List: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "list", abstract: "List definitions and graph definitions.")

            @Flag(help: "Print only the names, one per line; with --json as an array.")
            var names = false

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let set = try await session.control.definitions()
                if names {
                    try session.print(set.names) { for name in set.names { try $0.line("\(name)") } }
                } else {
                    try session.print(set, DefinitionText.table(set))
                }
                return .success
            }
        }

        struct Show: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "show",
                abstract: "Show a definition with its input fields, or a graph definition with its nodes.")

            @Argument(help: "The name.", completion: .names(.definitions), transform: NameArgument.read)
            var name: String

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let set = try await session.control.definitions()
                if let stored = set.definitions.first(where: { $0.definition.name == name }) {
                    let kind = set.kinds.first { $0.name == stored.definition.kind }
                    try session.print(stored) { try DefinitionText.write(stored, kind: kind, now: session.now, to: $0) }
                } else if let stored = set.graphs.first(where: { $0.definition.name == name }) {
                    let needed = Catalog(set).neededFields(ofGraph: name)
                    try session.print(stored) {
                        try DefinitionText.write(stored, needed: needed, now: session.now, to: $0)
                    }
                } else {
                    try UnknownName.check("definition", name, among: set.names, see: "halyard definitions list")
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
                    try session.print(lines) { output in
                        for line in lines { for text in DefinitionText.difference(line) { try output.line(text) } }
                    }
                    for line in lines {
                        if let warning = line.warning { try session.note("\(line.type) \(line.name): \(warning)") }
                    }
                    if lines.isEmpty {
                        try session.note("nothing to change: the document is empty")
                    } else if dryRun {
                        try session.note("nothing was written (--dry-run)")
                    } else {
                        try await session.noteWritten()
                    }
                    return .success
                }
            }
        }

        struct Remove: WritingVerb {
            static let configuration = CommandConfiguration(
                commandName: "remove", abstract: "Remove definitions; jobs already enqueued with them still run.",
                discussion: Removal.promise)

            @Argument(help: "The name.", completion: .names(.definitions), transform: NameArgument.read)
            var name: [String]

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                try await Removal(session).remove(
                    "definition", name, known: { try await $0.definitions().names }
                ) { name, control in try await control.removeDefinition(name) }
            }
        }

        struct Export: SessionVerb {
            static let configuration = CommandConfiguration(
                commandName: "export", abstract: "Print all definitions as a YAML document that apply accepts.")

            @OptionGroup var common: CommonOptions

            func run(in session: Session) async throws -> ExitCode {
                let document = try await session.control.exportDefinitions()
                try session.print(document) { try $0.document(document) }
                return .success
            }
        }
    }
}
