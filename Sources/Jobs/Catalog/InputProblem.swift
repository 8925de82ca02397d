/// Why an input does not fit its kind.
public enum InputProblem: Hashable, Sendable {
    case notAnObject(found: JSONShape)
    case unknownField(String, known: [String])
    /// `accepts` is the type that a dependency could give to fill it.
    case missingField(String, accepts: String?)
    case wrongShape(field: String, expected: InputField.Shape, found: JSONShape)
    case notAChoice(field: String, choices: [String])
}

extension InputProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAnObject(let found):
            "the input must be a JSON object, found \(found.phrase)"
        case .unknownField(let name, let known):
            NearestName.unknown("field", name, among: known, listing: "the fields are")
        case .missingField(let name, nil):
            "the field \"\(name)\" is missing; give it"
        case .missingField(let name, let accepts?):
            "the field \"\(name)\" is missing; give it, or a dependency that offers \(accepts)"
        case .wrongShape(let field, let expected, let found):
            "the field \"\(field)\" must be \(expected.phrase), found \(found == expected.jsonShape ? "another number" : found.phrase)"
        case .notAChoice(let field, let choices):
            "the field \"\(field)\" must be one of \(choices.joined(separator: ", "))"
        }
    }
}

extension InputField.Shape {
    var phrase: String {
        switch self {
        case .integer: "a whole number"
        default: jsonShape.phrase
        }
    }

    var jsonShape: JSONShape {
        switch self {
        case .string: .string
        case .integer, .number: .number
        case .boolean: .boolean
        case .object: .object
        case .array: .array
        }
    }
}

/// A kind with its fields at hand. One that names no fields takes any input.
struct KindEntry: Sendable {
    let description: KindDescription
    let fields: [String: InputField]
    let required: [InputField]

    init(_ description: KindDescription) {
        self.description = description
        fields = Dictionary(description.fields.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        required = description.fields.filter(\.isRequired)
    }

    var fieldNames: [String] { description.fields.map(\.name) }

    /// Whether a dependency may give the field: by itself, or as part of a whole input.
    func isFromDependency(_ field: InputField) -> Bool {
        field.isFromDependency || description.accepts == description.inputType
    }

    /// Checks names, shapes and choices of the fields that are there; null counts as absent.
    func problems(of input: JSONText) -> (present: Set<String>, problems: [InputProblem]) {
        if fields.isEmpty { return ([], []) }
        guard let object = JSONObject(input) else { return ([], [.notAnObject(found: input.shape)]) }
        var present: Set<String> = []
        var problems: [InputProblem] = []
        for (name, value) in object.fields {
            guard let field = fields[name] else {
                problems.append(.unknownField(name, known: fieldNames))
                continue
            }
            let shape = value.shape
            if shape == .null { continue }
            present.insert(name)
            if shape != field.shape.jsonShape || (field.shape == .integer && value.integer == nil) {
                problems.append(.wrongShape(field: name, expected: field.shape, found: shape))
            } else if let choices = field.choices, let choice = value.decodedString, !choices.contains(choice) {
                problems.append(.notAChoice(field: name, choices: choices))
            }
        }
        return (present, problems)
    }
}
