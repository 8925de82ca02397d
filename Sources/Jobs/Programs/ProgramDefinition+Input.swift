/// The reason why a program cannot run with an input, with the remedy.
public struct ProgramInputProblem: Error, Hashable, CustomStringConvertible {
    public let description: String

    /// Creates a problem from a clause for people that ends with the remedy.
    package init(description: String) { self.description = description }
}

extension ProgramDefinition {
    /// The input with the defaults of missing fields. A field that is null counts as missing if it has a default.
    ///
    /// - Throws: ``ProgramInputProblem`` if the input does not fit ``fields``.
    public func completed(_ input: JSONText) throws(ProgramInputProblem) -> JSONObject {
        guard var object = JSONObject(input) else {
            throw ProgramInputProblem(description: "\(InputProblem.notAnObject(found: input.shape))")
        }
        guard let fields else { return object }
        let entry = KindEntry(fields: fields.map(\.field))
        let (present, problems) = entry.problems(of: input)
        if let problem = problems.first { throw ProgramInputProblem(description: "\(problem)") }
        for field in fields where !present.contains(field.name) {
            if let fallback = field.fallback { object[field.name] = fallback }
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
            guard let text = try Self.fill(argument, input, output) else { continue }
            if argument.beginsWithValue, !areOptionsOver, text.utf8.first == UInt8(ascii: "-") {
                let name = argument.fieldNames.first ?? ""
                throw ProgramInputProblem(
                    description:
                        "the field \"\(name)\" begins with \"-\", so the program would read it as an option; write a value such as ./-name, or put \"--\" or a prefix before {\(name)} in the definition"
                )
            }
            result.append(text)
        }
        return result
    }

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
                    throw ProgramInputProblem(
                        description: "the field \"\(name)\" is \(value.shape.phrase), which cannot be an argument")
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
