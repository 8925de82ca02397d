import Jobs

/// The input that a command line spells: an object to begin with, overlaid by named and positional fields.
struct TypedInput {
    var base: JSONObject?
    /// From `--set field=value`.
    var assignments: [String]
    /// `value`, or `field=value` with a known field.
    var arguments: [String]

    /// Whether the meaning depends on the definition: arguments need its fields, and a value that is JSON its shapes.
    var needsForm: Bool {
        !arguments.isEmpty
            || assignments.contains { text in
                guard let (name, value) = Self.split(text) else { return false }
                return FieldText.isAmbiguous(value) || name == "file" || name.hasSuffix(".file")
            }
    }

    /// - Parameter form: Nil where ``needsForm`` is false, or when the definition is not known.
    /// - Returns: Nil when nothing was given.
    func resolve(_ form: InputForm?, name: String) throws -> ResolvedInput? {
        var result = ResolvedInput(object: base ?? JSONObject(), files: [])
        var given: Set<String> = []

        func set(_ field: InputForm.Field, to text: String) throws {
            guard given.insert(field.name).inserted else {
                throw CommandFailure(.usage, "The field \(field.name) is given twice. Give it once.")
            }
            result.object[field.name] = FieldText.value(text, shape: field.shape)
            if field.isFile { result.files.append(.init(field: field.name, path: text)) }
        }

        for text in assignments {
            guard let (name, value) = Self.split(text) else {
                throw CommandFailure(.usage, "--set \(text) has no value. Write it as --set field=value.")
            }
            try set(form?.field(name) ?? .init(name: name, shape: nil, isFile: false), to: value)
        }
        var positions = (form?.positional ?? [])[...]
        for text in arguments {
            if let (field, value) = Self.split(text), Self.isName(field) {
                guard let known = form?.field(field) else { throw unknown(field, text, form, name) }
                try set(known, to: value)
                continue
            }
            while let next = positions.first, given.contains(next.name) || result.object[next.name] != nil {
                positions = positions.dropFirst()
            }
            guard let next = positions.popFirst() else { throw tooMany(text, form, name) }
            try set(next, to: text)
        }
        return base == nil && given.isEmpty ? nil : result
    }

    private func unknown(_ field: String, _ text: String, _ form: InputForm?, _ name: String) -> CommandFailure {
        let known = (form?.positional ?? []) + (form?.named ?? [])
        if let nearest = NearestName.nearest(to: field, among: known.map(\.name)) {
            return CommandFailure(.usage, "\(name) has no field \(field). Did you mean \(nearest)?")
        }
        let first = form?.positional.first.map { "; for the text itself write \($0.name)=\(text)" } ?? ""
        return CommandFailure(.usage, "\(name) has no field \(field). See: halyard definitions show \(name)\(first)")
    }

    private func tooMany(_ text: String, _ form: InputForm?, _ name: String) -> CommandFailure {
        let names = form?.positional.map(\.name).joined(separator: ", ") ?? ""
        let takes = names.isEmpty ? "takes no arguments" : "takes only \(names)"
        return CommandFailure(.usage, "\(name) \(takes); \(text) is left over. See: halyard definitions show \(name)")
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
