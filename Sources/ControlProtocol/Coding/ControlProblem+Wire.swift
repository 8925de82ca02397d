import Jobs

/// Encoded as an RFC 9457 problem with `type`, `title`, `status`, `detail` and, if there are several problems,
/// `errors`.
extension ControlProblem: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        let code = try fields("type", \.code)
        fields.derived("title", \.code.response.title)
        fields.derived("status", \.status)
        let message = try fields("detail", \.message)
        let errors = try fields.list("errors") { $0.details.map(ProblemDetail.init) }
        self.init(code, message, details: errors.map(\.detail))
    }
}

private struct ProblemDetail {
    var detail: String
}

extension ProblemDetail: WireRecord {
    init(_ fields: inout some RecordFields<Self>) throws(ShapeProblem) {
        try self.init(detail: fields("detail", \.detail))
    }
}

/// Encoded as the problem's type URI.
extension ControlProblem.Code: WireValue {
    /// The part of a problem's type URI before its code.
    public static let typePrefix = "urn:halyard:problem:"

    public init(json: JSONText) throws(ShapeProblem) {
        let type = try String(json: json)
        guard type.hasPrefix(Self.typePrefix), let code = Self(rawValue: String(type.dropFirst(Self.typePrefix.count)))
        else { throw ShapeProblem("\"\(type)\" is not a problem of this release") }
        self = code
    }

    public func write(to writer: inout JSONWriter) { (Self.typePrefix + rawValue).write(to: &writer) }
}
