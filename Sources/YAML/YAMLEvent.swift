import CYAML

/// An event of libyaml, copied into Swift values.
struct YAMLEvent {
    enum Kind {
        case alias(String)
        case scalar(YAMLScalar)
        case beginSequence
        case beginMapping
        /// The beginning of the stream or the document.
        case begin
        /// The end of a sequence, a mapping, the document or the stream.
        case end
    }

    var kind: Kind
    var anchor: String?
    /// The line number, from 1.
    var line: Int

    init(_ event: yaml_event_t) {
        line = Int(event.start_mark.line) + 1
        switch event.type {
        case YAML_ALIAS_EVENT:
            kind = .alias(Self.text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let value = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            kind = .scalar(
                YAMLScalar(
                    text: String(decoding: value, as: UTF8.self), tag: Self.text(scalar.tag),
                    isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE))
            anchor = Self.text(scalar.anchor)
        case YAML_SEQUENCE_START_EVENT:
            kind = .beginSequence
            anchor = Self.text(event.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT:
            kind = .beginMapping
            anchor = Self.text(event.data.mapping_start.anchor)
        case YAML_STREAM_START_EVENT, YAML_DOCUMENT_START_EVENT: kind = .begin
        default: kind = .end
        }
    }

    var isEnd: Bool {
        if case .end = kind { true } else { false }
    }

    private static func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }
}
