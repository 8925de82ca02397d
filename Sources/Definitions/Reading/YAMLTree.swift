import Jobs
import YAML

/// A YAML document as JSON, with the line of every value.
struct YAMLTree {
    private(set) var json: JSONText = .null
    /// By path of names and indexes.
    private(set) var lines: [[String]: Int] = [:]
    private var bytesWritten = 0

    init(_ text: String) throws(DefinitionsProblem) {
        guard text.utf8.count <= DefinitionDocument.maxBytes else {
            throw Self.tooLarge
        }
        // JSON goes its own way: libyaml refuses some of it, such as surrogate pairs. What is no JSON may still be YAML.
        if text.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let json = try? JSONText(checking: Array(text.utf8), limit: DefinitionDocument.maxBytes)
        {
            self.json = json
            return
        }
        guard let root = try Self.compose(text) else {
            throw DefinitionsProblem(
                line: nil, message: "the document is empty; give at least one of queues, definitions, graphs")
        }
        json = try convert(root, at: [])
    }

    private static let tooLarge = DefinitionsProblem(
        line: nil, message: "the document is larger than \(DefinitionDocument.maxBytes >> 20) MiB; split it")

    /// The line of a path, or of what surrounds it where it is missing.
    func line(of path: [String]) -> Int? {
        var path = path
        while lines[path] == nil, !path.isEmpty { path.removeLast() }
        return lines[path]
    }

    private static func compose(_ text: String) throws(DefinitionsProblem) -> YAMLNode? {
        do throws(YAMLProblem) {
            return try YAMLNode(text)
        } catch {
            throw DefinitionsProblem(line: error.line, message: error.message)
        }
    }

    private mutating func convert(_ node: YAMLNode, at path: [String]) throws(DefinitionsProblem) -> JSONText {
        lines[path] = lines[path] ?? node.line
        let json: JSONText
        switch node.content {
        case .scalar(let scalar):
            json = try scalar.json(line: node.line, path: path)
            // An alias is written out wherever it stands, so a small document can grow without bounds.
            bytesWritten += json.bytes.count + 8
        case .sequence(let sequence):
            var elements: [JSONText] = []
            for (index, element) in sequence.enumerated() {
                elements.append(try convert(element, at: path + ["\(index)"]))
            }
            bytesWritten += 8
            json = JSONText(elements: elements)
        case .mapping(let members):
            json = try convert(members, at: path)
        }
        guard bytesWritten <= DefinitionDocument.maxBytes else { throw Self.tooLarge }
        return json
    }

    private mutating func convert(_ members: [YAMLMember], at path: [String]) throws(DefinitionsProblem) -> JSONText {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for member in members {
            guard let name = member.name.scalar?.text else {
                throw DefinitionsProblem(
                    line: member.name.line, place: path.isEmpty ? nil : path.joined(separator: "."),
                    message: "a name must be a plain word, not a list or a map")
            }
            lines[path + [name]] = member.name.line
            let json = try convert(member.value, at: path + [name])
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes += JSONText(string: name).bytes
            bytes.append(UInt8(ascii: ":"))
            bytes += json.bytes
            bytesWritten += name.utf8.count + 8
        }
        bytes.append(UInt8(ascii: "}"))
        return JSONText(trusted: bytes)
    }
}
