import Jobs

/// Encoded as `attempt` and the fields of the entry:
///
/// - a line: `offset`, `at` and `text`, with `base64` if the bytes are not UTF-8 or contain a null byte, and `whole` if no line break followed;
/// - a gap: `offset`, `left_out_bytes` and `left_out_lines`;
/// - the end: `end`, with `errno` if the log could not be written.
extension LogPiece: WireObjectValue {
    init(fields: JSONFields) throws(ShapeProblem) {
        self.init(attempt: try fields.required("attempt"), entry: try Self.entry(fields))
    }

    private static func entry(_ fields: JSONFields) throws(ShapeProblem) -> LogEntry {
        if let end: String = try fields.optional("end") {
            switch end {
            case "finished": return .end(.finished)
            case "failed": return .end(.failed(errno: try fields.required("errno")))
            case "interrupted": return .end(.interrupted)
            case "open": return .end(.open)
            default: throw ShapeProblem("\"\(end)\" is not the end of a log", at: ["end"])
            }
        }
        if let bytes: Int64 = try fields.optional("left_out_bytes") {
            return .leftOut(
                LogGap(
                    offset: try fields.required("offset"), bytes: bytes, lines: try fields.required("left_out_lines")))
        }
        let text: String = try fields.required("text")
        var bytes = Array(text.utf8)
        if let encoded: String = try fields.optional("base64") {
            guard let decoded = Base64.decoded(encoded) else { throw ShapeProblem("expected base64", at: ["base64"]) }
            bytes = decoded
        }
        return .line(
            LogLine(
                offset: try fields.required("offset"), arrivedAt: try fields.required("at"), bytes: bytes,
                isWhole: try fields.optional("whole") ?? true))
    }

    func writeFields(to writer: inout JSONWriter) {
        writer.field("attempt", attempt)
        switch entry {
        case .line(let line):
            writer.field("offset", line.offset)
            writer.field("at", line.arrivedAt)
            // Halyard's JSON contains no null characters.
            if !line.bytes.contains(0), let text = String(validating: line.bytes, as: UTF8.self) {
                writer.field("text", text)
            } else {
                writer.field("text", line.text)
                writer.field("base64", Base64.encoded(line.bytes))
            }
            if !line.isWhole { writer.field("whole", false) }
        case .leftOut(let gap):
            writer.fields(["offset": gap.offset, "left_out_bytes": gap.bytes, "left_out_lines": gap.lines])
        case .end(.finished): writer.field("end", "finished")
        case .end(.interrupted): writer.field("end", "interrupted")
        case .end(.open): writer.field("end", "open")
        case .end(.failed(let code)): writer.fields(["end": "failed", "errno": code])
        }
    }
}

extension LogReport: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(
            summary: LogSummary(
                attempt: fields("attempt", \.summary.attempt), bytes: fields("bytes", \.summary.bytes),
                lines: fields("lines", \.summary.lines), isOpen: fields("open", \.summary.isOpen)),
            last: fields.list("last", \.last))
    }
}

extension FileReport: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(name: fields("name", \.name), size: fields("size", \.size), sha256: fields("sha256", \.sha256))
    }
}
