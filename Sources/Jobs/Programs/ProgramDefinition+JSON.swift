import OperationTypes

/// Written as `{program: [/usr/bin/convert, "{file}", "png:{output}"], fields: {file: {type: string, required: true}},
/// stdin: json, result: file, exit: {75: retry, 2: {fail: bad_image}}, limits: {memory: 512MiB}, environment: {…}}`,
/// as part of a definition.
extension ProgramDefinition: JSONShaped {
    package static let fieldNames = ["program", "fields", "stdin", "result", "exit", "limits", "environment"]

    /// Parses the fields of a definition that describe its program.
    ///
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        try self.init(JSONFields(json, at: path, known: Self.fieldNames))
    }

    /// Parses the fields of a definition, which may contain others.
    ///
    /// - Parameter acceptsUnknownTypes: Whether a field of a type that this release does not know accepts any value.
    init(_ fields: JSONFields, acceptsUnknownTypes: Bool = false) throws(ShapeProblem) {
        let words = try fields.required("program", fields.elements("program"))
        let command = try Self.strings(words, at: fields.path + ["program"])
        let result = try fields.word("result", of: ResultForm.allCases.map { ($0.rawValue, $0) }) ?? .none
        let arguments = try Self.readArguments(command, fields, writesFile: result == .file)
        let standardInput = try fields.word("stdin", of: StandardInput.allCases.map { ($0.rawValue, $0) }) ?? .json
        let declared = try fields["fields"].map { (json) throws(ShapeProblem) in
            try readNamed(json, at: fields.path + ["fields"]) { (json, name, path) throws(ShapeProblem) in
                try ProgramField(json: json, name: name, at: path, acceptsUnknownTypes: acceptsUnknownTypes)
            }
        }
        self.init(
            executable: command[0], arguments: arguments, fields: declared, standardInput: standardInput,
            result: result, exits: try Self.readExits(fields), limits: try ProgramLimits(fields, result),
            environment: try Self.readEnvironment(fields))
        try checkFields(fields)
    }

    private static func strings(_ elements: [JSONText], at path: [String]) throws(ShapeProblem) -> [String] {
        var strings: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.decodedString else {
                throw ShapeProblem(
                    path: path + ["\(index)"],
                    message: "expected a string, found \(JSONFields.found(element)); put it in quotes")
            }
            guard !text.utf8.contains(0) else {
                throw ShapeProblem(path: path + ["\(index)"], message: "contains the character U+0000; remove it")
            }
            strings.append(text)
        }
        return strings
    }

    private static func readArguments(
        _ command: [String], _ fields: JSONFields, writesFile: Bool
    ) throws(ShapeProblem) -> [ProgramArgument] {
        guard let executable = command.first else {
            throw fields.problem("program", "the list is empty; begin it with the absolute path of an executable")
        }
        let path = fields.path + ["program"]
        guard executable.hasPrefix("/"), executable.utf8.count < 4096 else {
            throw ShapeProblem(
                path: path + ["0"],
                message:
                    "expected the absolute path of an executable, found \"\(HiddenCharacter.excerpt(of: executable))\"")
        }
        guard !executable.contains("{"), !executable.contains("}") else {
            throw ShapeProblem(
                path: path + ["0"], message: "a job cannot choose the executable; write a path without { and }")
        }
        var arguments: [ProgramArgument] = []
        for (index, text) in command.enumerated().dropFirst() {
            guard text.utf8.count <= maxArgumentBytes else {
                throw ShapeProblem(
                    path: path + ["\(index)"],
                    message:
                        "has \(text.utf8.count) bytes; the limit for an argument is \(maxArgumentBytes). Put the text in a file"
                )
            }
            do throws(ProgramArgumentProblem) {
                arguments.append(try ProgramArgument(text))
            } catch {
                throw ShapeProblem(path: path + ["\(index)"], message: error.description)
            }
        }
        if writesFile, !arguments.contains(where: \.mentionsOutput) {
            throw fields.problem("result", "is file, but no argument contains {output}; add one")
        }
        if !writesFile, let index = arguments.firstIndex(where: \.mentionsOutput) {
            throw ShapeProblem(
                path: path + ["\(index + 1)"], message: "{output} is allowed only with result: file; add it")
        }
        return arguments
    }

    /// Checks that the fields and the arguments agree.
    private func checkFields(_ json: JSONFields) throws(ShapeProblem) {
        let types = Dictionary(
            (fields ?? []).map { ($0.name, $0.field.shape) }, uniquingKeysWith: { first, _ in first })
        if types.count != fields?.count ?? 0 { throw json.problem("fields", "a name is used twice; rename one") }
        let lists = Set((fields ?? []).filter(\.isList).map(\.name))
        for (index, argument) in arguments.enumerated() {
            for name in argument.fieldNames {
                let path = json.path + ["program", "\(index + 1)"]
                guard let type = types[name] else {
                    throw ShapeProblem(
                        path: path,
                        message: NearestName.unknown("field", name, among: types.keys, listing: "the fields are")
                            + (types.isEmpty ? "; describe it under \"fields\"" : ""))
                }
                if lists.contains(name) {
                    if argument.onlyField == name { continue }
                    throw ShapeProblem(
                        path: path,
                        message:
                            "the field \"\(name)\" is a list, which can only be a whole argument; write {\(name)} alone, or let the program read it from standard input"
                    )
                }
                guard type != .object, type != .array else {
                    throw ShapeProblem(
                        path: path,
                        message:
                            "the field \"\(name)\" is an \(type.rawValue), which cannot be an argument; \(type == .array ? "use the type strings for a list of arguments, or " : "")let the program read it from standard input"
                    )
                }
            }
        }
        try checkOptions(json)
        if standardInput == .none,
            let unused = (fields ?? []).first(where: { field in
                !arguments.contains { $0.fieldNames.contains(field.name) }
            })
        {
            throw ShapeProblem(
                path: json.path + ["fields", unused.name],
                message: "no argument contains {\(unused.name)}; add one, or write stdin: json")
        }
    }

    /// Checks that no argument that may be left out follows an option, which would take the next argument as its value:
    /// a `--`, for example, so that values after it would be read as options.
    private func checkOptions(_ json: JSONFields) throws(ShapeProblem) {
        let present = Set(
            (fields ?? []).filter { ($0.field.isRequired || $0.fallback != nil) && !$0.isList }.map(\.name))
        let lists = Set((fields ?? []).filter(\.isList).map(\.name))
        for (index, argument) in arguments.enumerated().dropFirst() {
            let option = arguments[index - 1]
            guard option.mayTakeNext, let name = argument.fieldNames.first(where: { !present.contains($0) }) else {
                continue
            }
            let before = HiddenCharacter.excerpt(of: option.text)
            if lists.contains(name) {
                let isRequired = fields?.contains { $0.name == name && $0.field.isRequired } ?? false
                let consequence =
                    isRequired
                    ? "\"\(before)\" takes only its first string as its value"
                    : "if it is empty, \"\(before)\" takes the next argument as its value"
                throw ShapeProblem(
                    path: json.path + ["program", "\(index + 1)"],
                    message:
                        "the field \"\(name)\" is a list; \(consequence); write \"--\" or an argument that is not an option before {\(name)}"
                )
            }
            let remedy =
                argument.isCompleteOption
                ? "put this argument before \"\(before)\"" : "write --option={\(name)} as one argument"
            throw ShapeProblem(
                path: json.path + ["program", "\(index + 1)"],
                message:
                    "is left out if the field \"\(name)\" is missing, and then \"\(before)\" takes the next argument as its value; give the field a default, require it, or \(remedy)"
            )
        }
    }

    private static func readExits(_ fields: JSONFields) throws(ShapeProblem) -> [Int: Exit] {
        guard let json = fields["exit"] else { return [:] }
        let path = fields.path + ["exit"]
        guard let object = JSONObject(json) else {
            throw fields.problem("exit", "expected a map from exit codes, found \(json.shape.phrase)")
        }
        var exits: [Int: Exit] = [:]
        for (key, value) in object.fields {
            guard let code = Int(key), (1...255).contains(code), "\(code)" == key else {
                throw ShapeProblem(
                    path: path + [key], message: "expected an exit code from 1 to 255; 0 always succeeds")
            }
            exits[code] = try Exit(json: value, at: path + [key])
        }
        return exits
    }

    private static func readEnvironment(_ fields: JSONFields) throws(ShapeProblem) -> [String: String] {
        guard let json = fields["environment"] else { return [:] }
        let variables = try JSONFields(json, at: fields.path + ["environment"])
        var environment: [String: String] = [:]
        for name in JSONObject(json)?.names ?? [] {
            guard isVariable(name) else {
                throw variables.problem(name, "is not a valid variable name; use letters, digits and \"_\"")
            }
            guard !ownVariables.contains(name) else { throw variables.problem(name, "is set by the daemon; remove it") }
            guard !loadsCode(name) else {
                throw variables.problem(
                    name, "makes the program load other code; set it in a script that runs the program")
            }
            let value = try variables.required(name, variables.string(name))
            guard !value.utf8.contains(0) else {
                throw variables.problem(name, "contains the character U+0000; remove it")
            }
            environment[name] = value
        }
        return environment
    }

    private static func isVariable(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 256, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy {
            (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
    }

    /// The JSON that ``init(json:at:)`` parses; optional parts that are empty are left out.
    public var json: JSONText {
        var object = JSONObject()
        append(to: &object)
        return object.text
    }

    func append(to object: inout JSONObject) {
        let words = [executable] + arguments.map(\.text)
        object.append("program", JSONText(elements: words.map { JSONText(string: $0) }))
        if let fields {
            var declared = JSONObject()
            for field in fields { declared.append(field.name, field.json) }
            object.append("fields", declared.text)
        }
        object.append("stdin", JSONText(string: standardInput.rawValue))
        object.append("result", JSONText(string: result.rawValue))
        if !exits.isEmpty {
            var codes = JSONObject()
            for (code, exit) in exits.sorted(by: { $0.key < $1.key }) { codes.append("\(code)", exit.json) }
            object.append("exit", codes.text)
        }
        if limits != ProgramLimits() { object.append("limits", limits.json) }
        if !environment.isEmpty {
            var variables = JSONObject()
            for (name, value) in environment.sorted(by: { $0.key < $1.key }) {
                variables.append(name, JSONText(string: value))
            }
            object.append("environment", variables.text)
        }
    }
}
