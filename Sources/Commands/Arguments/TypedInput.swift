import Jobs

/// The input that a command line spells: an object from a file, and fields by position and by name.
struct TypedInput {
    private let base: JSONObject?
    private var positional: [String] = []
    private var named: [(name: String, value: String)] = []
    /// Arguments that are read as `field=value`.
    private var pairs: [String: String] = [:]

    /// - Parameters:
    ///   - assignments: From `--set field=value`.
    ///   - arguments: `value`, or `field=value`.
    init(base: JSONObject?, assignments: [String], arguments: [String]) throws {
        self.base = base
        for text in assignments {
            guard let pair = Self.split(text) else {
                throw CommandFailure(.usage, "--set \(text) has no value. Write it as --set field=value.")
            }
            named.append(pair)
        }
        for text in arguments {
            if let pair = Self.split(text), Self.isName(pair.name) {
                named.append(pair)
                pairs[pair.name] = text
            } else {
                positional.append(text)
            }
        }
    }

    /// Whether the definition decides what the words mean: which field, and of which shape.
    var needsDefinitions: Bool { !positional.isEmpty || !named.isEmpty }

    /// The input without a look at the definition; nil when none was given.
    var plain: ResolvedInput? { base.map { ResolvedInput(object: $0, files: []) } }

    /// - Parameter copiesAll: Whether files named in a document count as the person's own.
    func resolve(for name: String, in set: DefinitionSet, copiesAll: Bool = false) throws -> ResolvedInput? {
        let catalog = Catalog(set)
        do {
            guard let text = try catalog.input(for: name, arguments: positional, sets: named, base: base?.text),
                let object = JSONObject(text)
            else { return nil }
            return ResolvedInput(object: object, files: files(in: object, of: name, set, copiesAll: copiesAll))
        } catch {
            throw failure(error, name)
        }
    }

    private func failure(_ problem: RequestProblem, _ name: String) -> CommandFailure {
        switch problem {
        case .unknownDefinition: return CommandFailure(.noInput, problem, see: "halyard definitions list")
        case .refusedDefinition: return CommandFailure(.configuration, problem, see: "halyard definitions show \(name)")
        case .badInput(.unknownField(let field, _), _), .unknownParameter(let field, _, _):
            var failure = CommandFailure(.data, problem, see: "halyard definitions show \(name)")
            if let text = pairs[field] { failure.details.append("If \(text) is a file, write ./\(text)") }
            return failure
        default: return CommandFailure(.data, problem, see: "halyard definitions show \(name)")
        }
    }

    /// What was typed for a kind's field `file`; files named in a document are not the person's own, unless they say so.
    private func files(
        in object: JSONObject, of name: String, _ set: DefinitionSet, copiesAll: Bool
    ) -> [ResolvedInput.File] {
        let parameters = set.graphs.first { $0.definition.name == name }?.definition.parameters ?? []
        return object.fields.compactMap { field, value in
            let target = parameters.first { $0.name == field }?.field ?? field
            let isFile = target == "file" || (!parameters.isEmpty && target.hasSuffix(".file"))
            guard isFile, copiesAll || base?[field] == nil, let path = value.decodedString else { return nil }
            return ResolvedInput.File(field: field, path: path)
        }
    }

    private static func split(_ text: String) -> (name: String, value: String)? {
        guard let mark = text.firstIndex(of: "="), mark != text.startIndex else { return nil }
        return (String(text[..<mark]), String(text[text.index(after: mark)...]))
    }

    /// `url`, `store.file`; not the beginning of an address or a path.
    private static func isName(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
    }
}

/// An input as it will be sent, and which of its fields name files of the person.
struct ResolvedInput {
    struct File {
        var field: String
        var path: String
    }

    var object: JSONObject
    var files: [File]
}
