import OperationTypes

/// Written as `retry`, `succeed`, `{fail: bad_image}` or `{retry: busy}`.
extension ProgramDefinition.Exit {
    init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        guard json.shape == .object else {
            switch json.decodedString {
            case "retry": self = .retry(code: nil)
            case "succeed": self = .succeed
            default:
                throw ShapeProblem(
                    path: path,
                    message: "expected retry, succeed, {retry: CODE} or {fail: CODE}, found \(JSONFields.found(json))")
            }
            return
        }
        let fields = try JSONFields(json, at: path, known: ["fail", "retry"])
        switch (try Self.code("fail", fields), try Self.code("retry", fields)) {
        case (let code?, nil): self = .fail(code: code)
        case (nil, let code?): self = .retry(code: code)
        default: throw ShapeProblem(path: path, message: "expected either {fail: CODE} or {retry: CODE}")
        }
    }

    private static func code(_ name: String, _ fields: JSONFields) throws(ShapeProblem) -> String? {
        guard let code = try fields.string(name) else { return nil }
        guard isFailureCode(code) else {
            throw fields.problem(
                name, "\"\(HiddenCharacter.excerpt(of: code))\" is not a failure code; use a-z, 0-9 and \"_\"")
        }
        return code
    }

    var json: JSONText {
        var object = JSONObject()
        switch self {
        case .succeed: return JSONText(string: "succeed")
        case .retry(nil): return JSONText(string: "retry")
        case .retry(let code?): object.append("retry", JSONText(string: code))
        case .fail(let code): object.append("fail", JSONText(string: code))
        }
        return object.text
    }
}

/// Written as `{type: string, required: true, default: x, choices: [x, y], summary: …}`. The type `strings` is a list of
/// strings.
extension ProgramField {
    /// - Parameter acceptsUnknownTypes: Whether a field of a type that this release does not know accepts any value.
    init(
        json: JSONText, name key: String?, at path: [String], acceptsUnknownTypes: Bool = false
    ) throws(ShapeProblem) {
        guard json.shape == .object else {
            throw ShapeProblem(
                path: path, message: "expected an object, found \(json.shape.phrase); write {type: string}")
        }
        let fields = try JSONFields(
            json, at: path, known: ["name", "type", "required", "default", "choices", "summary"])
        let name = try readName(fields, key: key)
        guard Names.isNodeName(name) else {
            throw ShapeProblem(path: path, message: "the name is not allowed; \(Names.nodeNameRule)")
        }
        guard name != ProgramArgument.output, name != "dependencies" else {
            throw ShapeProblem(path: path, message: "the name is reserved; rename the field")
        }
        let shapes: [InputField.Shape] = [.string, .integer, .number, .boolean, .object, .array]
        var types: [(String, (InputField.Shape, Bool))] = shapes.map { ($0.rawValue, ($0, false)) }
        types.append((Self.list, (.array, true)))
        let isUnknown = try fields.string("type").map { name in !types.contains { $0.0 == name } } ?? false
        let (shape, isList) =
            isUnknown && acceptsUnknownTypes ? (.any, false) : try fields.word("type", of: types) ?? (.string, false)
        self.isList = isList
        var choices: [String]?
        if let elements = try fields.elements("choices") {
            choices = elements.compactMap(\.decodedString)
            guard shape == .string, let count = choices?.count, count > 0, count == elements.count else {
                throw fields.problem("choices", "expected a list of strings for a field of the type string")
            }
        }
        let isRequired = try fields.boolean("required") ?? false
        field = InputField(
            name, shape, choices: choices, isRequired: isRequired, summary: try fields.string("summary") ?? "")
        fallback = fields["default"]?.compact
        guard let fallback else { return }
        if isRequired { throw fields.problem("default", "a required field has no default; remove one of them") }
        let entry = KindEntry(fields: [self])
        var object = JSONObject()
        object.append(name, fallback)
        if let problem = entry.problems(of: object.text).problems.first {
            throw fields.problem("default", "\(problem)")
        }
        do throws(ProgramInputProblem) {
            _ = try strings(in: fallback)
        } catch {
            throw fields.problem("default", "\(error)")
        }
    }

    /// The type of a list of strings.
    static let list = "strings"

    /// The type as a definition names it.
    public var typeName: String { isList ? Self.list : field.shape.rawValue }

    var json: JSONText {
        var object = JSONObject()
        object.append("type", JSONText(string: typeName))
        if field.isRequired { object.append("required", JSONText(boolean: true)) }
        if let fallback { object.append("default", fallback) }
        if let choices = field.choices {
            object.append("choices", JSONText(elements: choices.map { JSONText(string: $0) }))
        }
        if !field.summary.isEmpty { object.append("summary", JSONText(string: field.summary)) }
        return object.text
    }
}

/// Written as `{memory: 512MiB, cpu: 2, processes: 64, output: 1MiB, file: 1GiB, log: 4MiB}`.
extension ProgramLimits {
    init(_ fields: JSONFields, _ result: ProgramDefinition.ResultForm) throws(ShapeProblem) {
        self.init()
        guard let json = fields["limits"] else { return }
        let limits = try JSONFields(
            json, at: fields.path + ["limits"], known: ["memory", "cpu", "processes", "output", "file", "log"])
        memory = try limits.size("memory", 1 << 20...1 << 50)
        if let processors = try limits.double("cpu") {
            guard (0.01...10_000).contains(processors) else {
                throw limits.problem("cpu", "expected a number of processors from 0.01 to 10000")
            }
            self.processors = processors
        }
        if let processes = try limits.integer("processes") {
            guard (1...1_000_000).contains(processes) else {
                throw limits.problem("processes", "expected 1 to 1000000")
            }
            self.processes = processes
        }
        output = try limits.size("output", 1...Self.maxOutput)
        file = try limits.size("file", 1...1 << 50)
        log = try limits.size("log", 4 << 10...1 << 30)
        if output != nil, ![.text, .json, .lines].contains(result) {
            throw limits.problem(
                "output", "is allowed only with result: text, json or lines; limit a file with \"file\"")
        }
    }

    var json: JSONText {
        var object = JSONObject()
        func append(_ name: String, _ size: Int64?) {
            if let size { object.append(name, JSONText(string: ByteSize(size).description)) }
        }
        append("memory", memory)
        if let processors { object.append("cpu", JSONText(double: processors) ?? .null) }
        if let processes { object.append("processes", JSONText(integer: processes)) }
        append("output", output)
        append("file", file)
        append("log", log)
        return object.text
    }
}

extension JSONFields {
    /// Reads a size such as `100KiB`, or a whole number of bytes; nil if the field is absent.
    fileprivate func size(_ name: String, _ range: ClosedRange<Int64>) throws(ShapeProblem) -> Int64? {
        guard let value = self[name] else { return nil }
        let bytes = value.decodedString.flatMap { ByteSize($0)?.bytes } ?? value.integer
        guard let bytes, range.contains(bytes) else {
            throw problem(name, "expected \(ByteSize.validText(in: range)), found \(Self.found(value))")
        }
        return bytes
    }
}
