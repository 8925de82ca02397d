import Foundation

/// Validates JSON values, with the subset of JSON Schema that the protocol's schema uses.
struct JSONSchema {
    private let root: [String: Any]
    /// Whether to refuse fields that the schema does not list, although receivers ignore them.
    var isStrict = false

    init(file: URL) throws {
        root = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any] ?? [:]
    }

    /// The supported keywords, to detect others in the schema.
    static let keywords: Set<String> = [
        "$schema", "title", "description", "$defs", "$ref", "type", "const", "enum", "minimum", "properties",
        "required",
        "items", "oneOf", "anyOf",
    ]

    /// Returns why the text does not match the definition, or nil if it does.
    func problem(in text: String, as definition: String) throws -> String? {
        let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        return problem(value, ["$ref": "#/$defs/\(definition)"], at: "")
    }

    private func problem(_ value: Any, _ schema: [String: Any], at path: String) -> String? {
        for keyword in schema.keys where !Self.keywords.contains(keyword) { return "unknown keyword \(keyword)" }
        if let reference = schema["$ref"] as? String {
            let definitions = root["$defs"] as? [String: Any] ?? [:]
            guard let found = definitions[String(reference.dropFirst("#/$defs/".count))] as? [String: Any] else {
                return "unknown reference \(reference)"
            }
            return problem(value, found, at: path)
        }
        if let choices = schema["oneOf"] as? [[String: Any]] {
            let problems = choices.map { problem(value, $0, at: path) }
            let fitting = problems.filter { $0 == nil }.count
            return fitting == 1 ? nil : "\(path) fits \(fitting) of \(choices.count): \(problems.compactMap(\.self))"
        }
        if let constant = schema["const"] as? String, value as? String != constant {
            return "\(path) is not \(constant)"
        }
        if let choices = schema["enum"] as? [String], !choices.contains(value as? String ?? "") {
            return "\(path) is not one of \(choices)"
        }
        if let type = schema["type"] as? String, !Self.isOf(type, value) { return "\(path) is not of the type \(type)" }
        if let least = schema["minimum"] as? Double, let number = value as? Double, number < least {
            return "\(path) is less than \(least)"
        }
        if let items = schema["items"] as? [String: Any], let array = value as? [Any] {
            for (index, item) in array.enumerated() {
                if let problem = problem(item, items, at: "\(path).\(index)") { return problem }
            }
        }
        guard let object = value as? [String: Any] else { return nil }
        for name in schema["required"] as? [String] ?? [] where object[name] == nil {
            return "\(path).\(name) is missing"
        }
        guard let properties = schema["properties"] as? [String: [String: Any]] else { return nil }
        for (name, field) in object {
            if let schema = properties[name] {
                if let problem = problem(field, schema, at: "\(path).\(name)") { return problem }
            } else if isStrict {
                return "\(path).\(name) is not documented"
            }
        }
        return nil
    }

    private static func isOf(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "null": value is NSNull
        case "boolean": value is Bool
        case "integer": value is Int
        case "number": value is Double
        default: false
        }
    }
}
