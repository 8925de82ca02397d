import Jobs

/// The input that a command line describes: an object from a file, and fields by position and by name.
struct TypedInput {
    private let base: JSONObject?
    private var positional: [String] = []
    private var named: [(name: String, value: String)] = []
    /// The arguments of the form `field=value`, by field.
    private var pairs: [String: String] = [:]

    /// - Parameters:
    ///   - assignments: The values of `--set`, as `field=value`.
    ///   - arguments: Each a `value`, or `field=value`.
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

    /// Whether the input depends on the definition, which decides the field and the shape of each word.
    var needsDefinitions: Bool { !positional.isEmpty || !named.isEmpty }

    /// The input if the definition is not needed; nil if no input was given.
    var plain: ResolvedInput? { base.map { ResolvedInput(object: $0, files: []) } }

    /// - Parameter copiesAll: Whether to also return files that the input document names.
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
        case .badInput(.unknownField(_, known: []), _), .tooManyArguments(_, takes: []):
            var failure = CommandFailure(.data, problem, see: "halyard definitions show \(name)")
            failure.details.append("\(name) declares no fields. Pass a whole input, if it takes one, with --input FILE")
            return failure
        case .badInput(.unknownField(let field, _), _), .unknownParameter(let field, _, _):
            var failure = CommandFailure(.data, problem, see: "halyard definitions show \(name)")
            if let text = pairs[field] { failure.details.append("If \(text) is a file, write ./\(text)") }
            return failure
        default: return CommandFailure(.data, problem, see: "halyard definitions show \(name)")
        }
    }

    /// Returns the files that were typed for fields named `file`. A file that the input document names does not
    /// count as the caller's own, so it is included only with `copiesAll`.
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

    /// Whether the text is a field's name, such as `url` or `store.file`, and not the beginning of an address
    /// or a path.
    private static func isName(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
    }
}

/// An input as it will be sent, and the fields that name files of the caller.
struct ResolvedInput {
    struct File {
        var field: String
        var path: String
    }

    var object: JSONObject
    var files: [File]
}
