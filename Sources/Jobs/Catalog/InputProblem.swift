/// The reason why an input does not fit its kind.
public enum InputProblem: Hashable, Sendable {
    /// The input is not a JSON object.
    case notAnObject(found: JSONShape)
    /// The input is larger than ``JSONText/maxBytes``.
    case tooLarge(bytes: Int)
    /// The kind has no field of this name.
    case unknownField(String, known: [String])
    /// A required field is missing. `accepts` is the name of the type that a dependency could offer to supply it; nil
    /// if none can.
    case missingField(String, accepts: String?)
    /// The value of a field has another JSON type than expected.
    case wrongShape(field: String, expected: InputField.Shape, found: JSONShape)
    /// The value of a field is not a list of strings.
    case notAList(field: String, found: JSONShape)
    /// The value of a field is not one of the allowed strings.
    case notAChoice(field: String, choices: [String])
    /// The value of a field is outside its range, or is not a size or a duration at all.
    case outOfRange(InputField, found: String)
    /// The value of a field is not an address with one of the allowed schemes.
    case notAnAddress(field: String, schemes: [String])
    /// The kind itself refuses the input, for this reason.
    case refused(String)
}

extension InputProblem: CustomStringConvertible {
    /// The path of the faulty field within the definition, node or schedule that contains the input.
    var path: [String] {
        switch self {
        case .notAnObject, .tooLarge, .missingField, .refused: ["input"]
        case .unknownField(let field, _), .wrongShape(let field, _, _), .notAChoice(let field, _),
            .notAnAddress(let field, _), .notAList(let field, _):
            ["input", field]
        case .outOfRange(let field, _): ["input", field.name]
        }
    }

    public var description: String {
        switch self {
        case .notAnObject(let found):
            "the input must be a JSON object, found \(found.phrase)"
        case .tooLarge(let bytes):
            "the input has \(bytes) bytes; the limit is \(JSONText.maxBytes). Put large values into a file and give its path"
        case .unknownField(let name, let known):
            NearestName.unknown("field", name, among: known, listing: "the fields are")
        case .missingField(let name, nil):
            "the field \"\(name)\" is missing; add it"
        case .missingField(let name, let accepts?):
            "the field \"\(name)\" is missing; add it, or a dependency that offers \(accepts)"
        case .wrongShape(let field, let expected, let found):
            "the field \"\(field)\" must be \(expected.phrase), found \(found == expected.jsonShape ? "another kind of number" : found.phrase)"
        case .notAList(let field, let found):
            "the field \"\(field)\" must be a list of strings, found \(found.phrase)"
        case .notAChoice(let field, let choices):
            "the field \"\(field)\" must be one of \(choices.joined(separator: ", "))"
        case .outOfRange(let field, let found):
            "the field \"\(field.name)\" \(field.rangeProblem(of: found))"
        case .notAnAddress(let field, let schemes):
            "the field \"\(field)\" must be an address that begins with "
                + schemes.map { "\($0)://" }.joined(separator: " or ")
        case .refused(let reason): reason
        }
    }
}

extension InputField {
    /// The reason why this field does not accept a number, which is in bytes for a size and in milliseconds for a
    /// duration; nil if it does.
    package func problem(of number: Int64) -> String? {
        if allows(number) { return nil }
        let found =
            switch shape {
            case .size: "\(ByteSize(number))"
            case .duration: Duration.milliseconds(number).human
            default: "\(number)"
            }
        return rangeProblem(of: found)
    }

    fileprivate func allows(_ number: Int64) -> Bool { range?.contains(number) ?? true }

    fileprivate func rangeProblem(of found: String) -> String {
        let range = range ?? 0...Int64.max
        switch shape {
        case .size: return "is \"\(found)\"; write \(ByteSize.validText(in: range))"
        case .duration: return "is \"\(found)\"; write \(Duration.validText(inMs: range))"
        default:
            let allowed =
                range.upperBound == .max
                ? "at least \(range.lowerBound)" : "from \(range.lowerBound) to \(range.upperBound)"
            return "must be \(allowed), found \(found)"
        }
    }

    /// Whether a text begins with one of the schemes and continues after it. It accepts everything that a browser would
    /// accept; the kind parses the complete address later.
    static func isAddress(_ text: String, _ schemes: [String]) -> Bool {
        let bytes = text.utf8.filter { $0 > 0x20 }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let rest = bytes[(colon + 1)...].drop { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return !rest.isEmpty && schemes.contains(String(decoding: bytes[..<colon], as: UTF8.self).lowercased())
    }
}

extension InputField.Shape {
    var phrase: String {
        switch self {
        case .integer: "a whole number"
        case .size: "a size such as 100KiB"
        case .duration: "a duration such as 30s"
        default: jsonShape?.phrase ?? "a value"
        }
    }

    /// The JSON type of the values; nil if they may have any.
    var jsonShape: JSONShape? {
        switch self {
        case .string, .size, .duration: .string
        case .integer, .number: .number
        case .boolean: .boolean
        case .object: .object
        case .array: .array
        case .any: nil
        }
    }
}

/// A kind with an index of its fields.
final class KindEntry: Sendable {
    let description: KindDescription
    /// Whether any input is accepted.
    let isOpen: Bool
    let fields: [String: InputField]
    let required: [InputField]
    /// The fields that are lists of strings.
    let lists: Set<String>

    /// - Parameters:
    ///   - isOpen: Whether any input is accepted; nil if it is when the kind names no fields.
    ///   - lists: The fields that are lists of strings.
    init(_ description: KindDescription, isOpen: Bool? = nil, lists: Set<String> = []) {
        self.description = description
        self.lists = lists
        self.isOpen = isOpen ?? description.fields.isEmpty
        fields = Dictionary(description.fields.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        required = description.fields.filter(\.isRequired)
    }

    /// Creates an entry that only checks values, and accepts no other fields than these.
    convenience init(fields: [ProgramField]) {
        self.init(
            KindDescription(
                name: "", summary: "", inputType: "", outputType: "", accepts: nil, offers: "",
                fields: fields.map(\.field)),
            isOpen: false, lists: ProgramField.lists(among: fields))
    }

    var fieldNames: [String] { description.fields.map(\.name) }

    /// Whether a dependency can supply the field, either alone or as part of a complete input.
    func isFromDependency(_ field: InputField) -> Bool {
        field.isFromDependency || description.accepts == description.inputType
    }

    /// Checks the names, shapes and values of the fields in an input. A field that is null counts as absent.
    func problems(of input: JSONText) -> (present: [String], problems: [InputProblem]) {
        if isOpen { return ([], []) }
        var present: [String] = []
        var problems: [InputProblem] = []
        let isObject = JSONObject.visit(input) { name, value in
            guard let field = fields[name] else {
                problems.append(.unknownField(name, known: fieldNames))
                return
            }
            let shape = JSONShape(of: value)
            if shape == .null { return }
            present.append(name)
            if let problem = problem(of: field, value, shape) { problems.append(problem) }
        }
        return isObject ? (present, problems) : ([], [.notAnObject(found: input.shape)])
    }

    private func problem(of field: InputField, _ value: ArraySlice<UInt8>, _ shape: JSONShape) -> InputProblem? {
        if field.shape == .any { return nil }
        let wrongShape =
            lists.contains(field.name)
            ? InputProblem.notAList(field: field.name, found: shape)
            : .wrongShape(field: field.name, expected: field.shape, found: shape)
        let isCountOfBytes = field.shape == .size && shape == .number
        if shape != field.shape.jsonShape, !isCountOfBytes { return wrongShape }
        switch field.shape {
        case .integer, .size, .duration:
            let json = JSONText(trusted: Array(value))
            var found = json.decodedString ?? ""
            let number: Int64?
            switch (field.shape, shape) {
            case (.size, .string): number = ByteSize(found)?.bytes
            case (.duration, _): number = Duration(human: found)?.milliseconds
            default:
                guard let integer = json.integer else { return wrongShape }
                (number, found) = (integer, "\(integer)")
            }
            guard let number, field.allows(number) else {
                return .outOfRange(field, found: HiddenCharacter.excerpt(of: found))
            }
        // A string that is not restricted may be large, so it is not copied.
        case .string where field.choices != nil || field.schemes != nil:
            guard let text = JSONText(trusted: Array(value)).decodedString else { return nil }
            if let choices = field.choices, !choices.contains(text) {
                return .notAChoice(field: field.name, choices: choices)
            }
            if let schemes = field.schemes, !InputField.isAddress(text, schemes) {
                return .notAnAddress(field: field.name, schemes: schemes)
            }
        case .string, .number, .boolean, .object, .array, .any: break
        }
        return nil
    }
}
