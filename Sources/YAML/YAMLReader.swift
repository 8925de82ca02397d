import CYAML

/// Builds nodes from the events of libyaml.
struct YAMLReader: ~Copyable {
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>
    /// The values of the anchors (`&name`).
    private var anchors: [String: YAMLNode] = [:]
    private var depth = 0

    /// The maximum depth of nesting, because each level needs stack to parse, to traverse and to free.
    private static let maxDepth = 100

    init(_ text: String) {
        // libyaml would count a byte order mark as a column, so the first key would seem to be indented.
        let bytes = text.utf8.dropFirst(text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        self.text = .allocate(capacity: bytes.count)
        _ = self.text.initialize(from: bytes)
        parser = .allocate(capacity: 1)
        // This fails only if there is no memory; the first event then reports the error.
        yaml_parser_initialize(parser)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, self.text.baseAddress, self.text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        text.deallocate()
    }

    mutating func readDocument() throws(YAMLProblem) -> YAMLNode? {
        _ = try next()  // the beginning of the stream
        guard case .begin = try next().kind else { return nil }
        let root = try readNode(try next())
        _ = try next()  // the end of the document
        let after = try next()
        guard case .end = after.kind else {
            throw YAMLProblem(line: after.line, message: "a second document begins here; write only one")
        }
        return root
    }

    private mutating func readNode(_ event: YAMLEvent) throws(YAMLProblem) -> YAMLNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maxDepth else { throw Self.tooDeep(event) }
        let content: YAMLNode.Content
        switch event.kind {
        case .alias(let name):
            guard let node = anchors[name] else {
                throw YAMLProblem(line: event.line, message: "the alias *\(name) has no anchor before it")
            }
            // The alias adds all levels of its value at this depth.
            guard depth + node.height <= Self.maxDepth else { throw Self.tooDeep(event) }
            return node
        case .scalar(let scalar): content = .scalar(scalar)
        case .beginSequence: content = .sequence(try readElements())
        case .beginMapping: content = .mapping(try readMembers())
        case .begin, .end:
            throw YAMLProblem(line: event.line, message: "a value is missing")
        }
        let node = YAMLNode(content, line: event.line)
        if let anchor = event.anchor { anchors[anchor] = node }
        return node
    }

    private static func tooDeep(_ event: YAMLEvent) -> YAMLProblem {
        YAMLProblem(line: event.line, message: "values are nested more than \(maxDepth) levels deep; use fewer levels")
    }

    private mutating func readElements() throws(YAMLProblem) -> [YAMLNode] {
        var elements: [YAMLNode] = []
        while case let event = try next(), !event.isEnd { elements.append(try readNode(event)) }
        return elements
    }

    private mutating func readMembers() throws(YAMLProblem) -> [YAMLMember] {
        var members: [YAMLMember] = []
        var names: Set<String> = []
        while case let event = try next(), !event.isEnd {
            let name = try readNode(event)
            if let text = name.scalar?.text, !names.insert(text).inserted {
                throw YAMLProblem(line: name.line, message: "the name \"\(text)\" occurs twice in one map; remove one")
            }
            members.append(YAMLMember(name: name, value: try readNode(try next())))
        }
        return members
    }

    private func next() throws(YAMLProblem) -> YAMLEvent {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw problem() }
        defer { yaml_event_delete(&event) }
        return YAMLEvent(event)
    }

    private func problem() -> YAMLProblem {
        let state = parser.pointee
        let reason = state.problem.map { String(cString: $0) } ?? "out of memory"
        if state.error == YAML_READER_ERROR {
            let line = text.prefix(Int(state.problem_offset)).count { $0 == UInt8(ascii: "\n") } + 1
            return YAMLProblem(
                line: line, message: "invalid YAML: \(reason); write such a character as an escape in quotes")
        }
        let mark = state.problem_mark
        // The scanner's own message says only that no token can begin like this.
        if character(at: mark) == "\t" {
            return YAMLProblem(
                line: Int(mark.line) + 1,
                message: "invalid YAML: a tab is used where only spaces are allowed; indent with spaces")
        }
        let context = state.context.map { " (\(String(cString: $0)), line \(state.context_mark.line + 1))" } ?? ""
        return YAMLProblem(line: Int(mark.line) + 1, message: "invalid YAML: \(reason)\(context)")
    }

    private func character(at mark: yaml_mark_t) -> Unicode.Scalar? {
        let line = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropFirst(Int(mark.line))
            .first
        return line.flatMap { String(decoding: $0, as: UTF8.self).unicodeScalars.dropFirst(Int(mark.column)).first }
    }
}
