import Jobs
import Yams

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

    private static func compose(_ text: String) throws(DefinitionsProblem) -> Node? {
        do {
            return try Parser(yaml: text, resolver: .basic, encoding: .utf8).singleRoot()
        } catch let error as YamlError {
            throw DefinitionsProblem(error)
        } catch {
            throw DefinitionsProblem(line: nil, message: "the YAML cannot be read: \(error)")
        }
    }

    private mutating func convert(_ node: Node, at path: [String]) throws(DefinitionsProblem) -> JSONText {
        let line = node.mark?.line
        lines[path] = lines[path] ?? line
        let json: JSONText
        switch node {
        case .scalar(let scalar):
            json = try YAMLScalar.json(scalar, line: line, path: path)
            // An alias is written out wherever it stands, so a small document can grow without bounds.
            bytesWritten += json.bytes.count + 8
            guard bytesWritten <= DefinitionDocument.maxBytes else { throw Self.tooLarge }
        case .sequence(let sequence):
            var elements: [JSONText] = []
            for (index, element) in sequence.enumerated() {
                elements.append(try convert(element, at: path + ["\(index)"]))
            }
            bytesWritten += 8
            json = JSONText(elements: elements)
        case .mapping(let mapping):
            json = try convert(mapping, at: path)
        case .alias:
            throw DefinitionsProblem(line: line, message: "an alias cannot be resolved; write its value out")
        }
        return json
    }

    private mutating func convert(_ mapping: Node.Mapping, at path: [String]) throws(DefinitionsProblem) -> JSONText {
        var names: Set<String> = []
        var members: [UInt8] = [UInt8(ascii: "{")]
        for (key, value) in mapping {
            let line = key.mark?.line
            guard let name = key.scalar?.string else {
                throw DefinitionsProblem(
                    line: line, place: path.isEmpty ? nil : path.joined(separator: "."),
                    message: "a name must be a plain word, not a list or a map")
            }
            guard names.insert(name).inserted else {
                throw DefinitionsProblem(
                    line: line, message: "the name \"\(name)\" stands twice in one map; remove one")
            }
            lines[path + [name]] = line
            let json = try convert(value, at: path + [name])
            if members.count > 1 { members.append(UInt8(ascii: ",")) }
            members += JSONText(string: name).bytes
            members.append(UInt8(ascii: ":"))
            members += json.bytes
            bytesWritten += name.utf8.count + 8
        }
        members.append(UInt8(ascii: "}"))
        return JSONText(trusted: members)
    }
}

extension DefinitionsProblem {
    fileprivate init(_ error: YamlError) {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let context = context.map { " (\($0.text), line \($0.mark.line))" } ?? ""
            self.init(line: mark.line, message: "not YAML: \(problem)\(context)")
        case .reader(let problem, let offset, _, let yaml):
            let line = offset.map { yaml.prefix($0).count { $0.isNewline } + 1 }
            self.init(line: line, message: "not YAML: \(problem); write such a character as an escape in quotes")
        case .duplicatedKeysInMapping(let names, let context):
            let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
            let stands = names.count == 1 ? "the name \(list) stands" : "the names \(list) stand"
            self.init(line: context.mark.line, message: "\(stands) twice in one map; remove one")
        default:
            self.init(line: nil, message: "the YAML cannot be read: \(error)")
        }
    }
}
