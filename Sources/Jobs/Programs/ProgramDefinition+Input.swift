extension ProgramDefinition {
    /// The input with the defaults of missing fields. A field that is null counts as missing if it has a default.
    ///
    /// - Throws: ``ProgramInputProblem`` if the input does not fit ``fields``.
    public func completed(_ input: JSONText) throws(ProgramInputProblem) -> JSONObject {
        guard var object = JSONObject(input) else {
            throw ProgramInputProblem(description: "\(InputProblem.notAnObject(found: input.shape))")
        }
        guard let fields else { return object }
        let entry = KindEntry(fields: fields)
        let (present, problems) = entry.problems(of: input)
        if let problem = problems.first { throw ProgramInputProblem(description: "\(problem)") }
        for field in fields where !present.contains(field.name) {
            if let fallback = field.fallback { object[field.name] = fallback }
        }
        for field in fields where field.isList {
            guard let value = object[field.name], !value.isNull else { continue }
            _ = try field.strings(in: value)
        }
        return object
    }

    /// Returns the first required field that an input lacks; nil if it lacks none.
    public func missingField(of input: JSONObject) -> String? {
        fields?.first { $0.field.isRequired && (input[$0.name]?.isNull ?? true) }?.name
    }

    /// The arguments for an input. An argument with a field that the input lacks is left out.
    ///
    /// - Parameters:
    ///   - input: The input with its defaults.
    ///   - output: The path of the result file.
    /// - Throws: ``ProgramInputProblem`` if a value would be read as an option, or cannot be passed to a program.
    public func arguments(for input: JSONObject, output: String) throws(ProgramInputProblem) -> [String] {
        var result: [String] = []
        var areOptionsOver = false
        for argument in arguments {
            if argument.pieces == [.text("--")] { areOptionsOver = true }
            let texts: [String]
            if let name = argument.onlyField, let field = fields?.first(where: { $0.name == name && $0.isList }) {
                guard let value = input[name], !value.isNull else { continue }
                texts = try field.strings(in: value)
            } else {
                texts = try Self.fill(argument, input, output).map { [$0] } ?? []
            }
            for (index, text) in texts.enumerated() {
                try check(text, at: index, of: argument, areOptionsOver: areOptionsOver)
            }
            result += texts
        }
        return result
    }

    /// The maximum size of an argument in bytes. The kernel's limit of 128 KiB (`MAX_ARG_STRLEN`) includes a NUL byte.
    static let maxArgumentBytes = (128 << 10) - 1

    /// Checks that an argument can be passed to the program, and is not an option by mistake.
    private func check(
        _ text: String, at index: Int, of argument: ProgramArgument, areOptionsOver: Bool
    ) throws(ProgramInputProblem) {
        let name = argument.fieldNames.first ?? ""
        let place = isList(name) ? "\(index + 1)" : nil
        if argument.beginsWithValue, !areOptionsOver, text.utf8.first == UInt8(ascii: "-") {
            throw .readAsOption(field: name, place: place)
        }
        let count = text.utf8.count
        guard count <= Self.maxArgumentBytes else { throw .tooLong(field: name, place: place, bytes: "\(count)") }
    }

    /// Whether a field is a list of strings.
    func isList(_ field: String) -> Bool { fields?.contains { $0.name == field && $0.isList } ?? false }

    private static func fill(
        _ argument: ProgramArgument, _ input: JSONObject, _ output: String
    ) throws(ProgramInputProblem) -> String? {
        var text = ""
        for piece in argument.pieces {
            switch piece {
            case .text(let literal): text += literal
            case .output: text += output
            case .field(let name):
                guard let value = input[name], !value.isNull else { return nil }
                guard let word = Self.word(value) else {
                    throw .notAnArgument(field: name, found: value.shape.phrase)
                }
                guard !word.utf8.contains(0) else {
                    throw ProgramInputProblem(
                        description: "the field \"\(name)\" contains the character U+0000; remove it")
                }
                text += word
            }
        }
        return text
    }

    private static func word(_ value: JSONText) -> String? {
        switch value.shape {
        case .string: value.decodedString
        case .boolean: value.boolean == true ? "true" : "false"
        case .number: value.integer.map { "\($0)" } ?? value.numberToken
        case .null, .array, .object: nil
        }
    }

    /// The description of the kind with the fields of this program.
    func description(of kind: KindDescription) -> KindDescription {
        var description = kind
        description.fields = (fields ?? []).map(\.field)
        return description
    }
}

extension ProgramField {
    /// The strings in the value of a list; empty if the field is not a list.
    ///
    /// - Throws: ``ProgramInputProblem`` if the value cannot become arguments.
    func strings(in value: JSONText) throws(ProgramInputProblem) -> [String] {
        if !isList { return [] }
        guard let elements = value.elements else {
            throw ProgramInputProblem(description: "\(InputProblem.notAList(field: name, found: value.shape))")
        }
        guard !elements.isEmpty || !field.isRequired else { throw .emptyList(name) }
        guard elements.count <= Self.maxElements else {
            throw .tooManyStrings(name, count: "\(elements.count)")
        }
        var strings: [String] = []
        for (index, element) in elements.enumerated() {
            // No string that can be decoded contains U+0000.
            guard let string = element.decodedString else {
                throw .notAString(name, found: element.shape.phrase, place: "\(index + 1)")
            }
            if SpooledFile(string) != nil { throw .spooledFileInList(name, place: "\(index + 1)") }
            strings.append(string)
        }
        return strings
    }
}
