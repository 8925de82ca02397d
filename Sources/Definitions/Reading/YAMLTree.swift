import Jobs
import YAML

/// A YAML document converted to JSON, with the line of each value.
struct YAMLTree {
    let json: JSONText
    /// The root of the document; nil for JSON, which is parsed without line numbers.
    private let root: YAMLNode?

    init(_ text: String) throws(DefinitionsProblem) {
        guard text.utf8.count <= DefinitionDocument.maxBytes else { throw DefinitionsProblem.tooLarge }
        // JSON is parsed separately, because libyaml refuses some of it, such as surrogate pairs.
        if text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let json = try? JSONText(checking: Array(text.utf8), limit: DefinitionDocument.maxBytes)  // Else YAML.
        {
            self.json = json
            root = nil
            return
        }
        guard let root = try Self.compose(text) else {
            throw DefinitionsProblem(
                line: nil, message: "the document is empty; give at least one of queues, definitions, graphs, schedules"
            )
        }
        var converter = TreeConverter()
        json = try converter.json(of: root)
        self.root = root
    }

    /// The line of the value at a path of names and indexes; if it is missing, the line of the nearest value that
    /// contains it.
    func line(of path: [String]) -> Int? {
        guard var node = root else { return nil }
        var line = node.line
        for step in path {
            switch node.content {
            case .scalar: return line
            case .mapping(let members):
                guard let member = members.first(where: { $0.name.scalar?.text == step }) else { return line }
                (node, line) = (member.value, member.name.line)
            case .sequence(let elements):
                guard let index = Int(step), elements.indices.contains(index) else { return line }
                (node, line) = (elements[index], elements[index].line)
            }
        }
        return line
    }

    /// The lines of the entries in a section, by name or index.
    func lines(in section: String) -> [String: Int] {
        guard case .mapping(let sections)? = root?.content,
            let section = sections.first(where: { $0.name.scalar?.text == section })
        else { return [:] }
        switch section.value.content {
        case .scalar: return [:]
        case .mapping(let members):
            let lines = members.compactMap { member in member.name.scalar.map { ($0.text, member.name.line) } }
            return Dictionary(lines) { first, _ in first }
        case .sequence(let elements):
            return Dictionary(uniqueKeysWithValues: elements.enumerated().map { ("\($0)", $1.line) })
        }
    }

    private static func compose(_ text: String) throws(DefinitionsProblem) -> YAMLNode? {
        do throws(YAMLProblem) {
            return try YAMLNode(text)
        } catch {
            throw DefinitionsProblem(line: error.line, message: error.message)
        }
    }
}

extension DefinitionsProblem {
    fileprivate static let tooLarge = DefinitionsProblem(
        line: nil, message: "the document is larger than \(DefinitionDocument.maxBytes >> 20) MiB; split it")
}

extension YAMLNode {
    /// Converts the value to JSON, by the rules of a document of definitions.
    ///
    /// - Parameter path: The path of the value, for the message of a problem.
    package func json(at path: [String]) throws(DefinitionsProblem) -> JSONText {
        var converter = TreeConverter(path: path)
        return try converter.json(of: self)
    }
}

/// Converts nodes to JSON. An alias is written out every time it is used, so the output of a small document could
/// become arbitrarily large. The limit therefore counts the bytes written, plus 8 for each value.
private struct TreeConverter {
    /// The path of the value being converted.
    private var path: [String]
    private var bytesWritten = 0

    init(path: [String] = []) { self.path = path }

    private mutating func count(_ bytes: Int) throws(DefinitionsProblem) {
        bytesWritten += bytes + 8
        if bytesWritten > DefinitionDocument.maxBytes { throw DefinitionsProblem.tooLarge }
    }

    mutating func json(of node: YAMLNode) throws(DefinitionsProblem) -> JSONText {
        switch node.content {
        case .scalar(let scalar):
            let json = try scalar.json(line: node.line, path: path)
            try count(json.bytes.count)
            return json
        case .sequence(let sequence):
            try count(0)
            var elements: [JSONText] = []
            for (index, element) in sequence.enumerated() {
                path.append("\(index)")
                elements.append(try json(of: element))
                path.removeLast()
            }
            return JSONText(elements: elements)
        case .mapping(let members):
            try count(0)
            var object = JSONObject()
            for member in members {
                guard let name = member.name.scalar?.text else {
                    throw DefinitionsProblem(
                        line: member.name.line, path: path,
                        message: "a name must be a plain word, not a list or a map")
                }
                try count(name.utf8.count)
                path.append(name)
                object.append(name, try json(of: member.value))
                path.removeLast()
            }
            return object.text
        }
    }
}
