import Jobs

/// Encoded as an RFC 9457 problem with `type`, `title`, `status`, `detail` and, if there are several problems,
/// `errors`.
extension ControlProblem: WireObjectValue {
    /// The part of a problem's type URI before its code.
    public static let typePrefix = "urn:halyard:problem:"

    init(fields: WireFields) throws(ShapeProblem) {
        let type: String = try fields.required("type")
        guard type.hasPrefix(Self.typePrefix), let code = Code(rawValue: String(type.dropFirst(Self.typePrefix.count)))
        else { throw ShapeProblem("\"\(type)\" is not a problem of this release", at: ["type"]) }
        let errors: [ProblemDetail] = try fields.optional("errors") ?? []
        self.init(code, try fields.required("detail"), details: errors.map(\.detail))
    }

    func write(to object: inout WireObject) {
        object.add("type", Self.typePrefix + code.rawValue)
        object.add("title", code.title)
        object.add("status", status)
        object.add("detail", message)
        object.add("errors", details.isEmpty ? nil : details.map(ProblemDetail.init))
    }
}

private struct ProblemDetail: WireObjectValue {
    var detail: String

    init(detail: String) { self.detail = detail }

    init(fields: WireFields) throws(ShapeProblem) { detail = try fields.required("detail") }

    func write(to object: inout WireObject) { object.add("detail", detail) }
}

extension ControlProblem.Code {
    /// A short description, which is the same for every problem with this code.
    public var title: String {
        switch self {
        case .invalidRequest: "The request is wrong"
        case .methodNotAllowed: "The path does not take this method"
        case .invalidInput: "The input does not fit"
        case .unknownDefinition: "There is no such definition"
        case .unknownQueue: "There is no such queue"
        case .notFound: "There is no such thing"
        case .invalidDefinitions: "The definitions are wrong"
        case .invalidConfiguration: "The configuration is wrong"
        case .keyReused: "The key belongs to another request"
        case .conflict: "The present state does not allow it"
        case .inUse: "Something else names it"
        case .unmetDependency: "A dependency can no longer be met"
        case .tooLarge: "It is too large"
        case .unavailable: "Not now"
        case .unknownOutcome: "It may or may not have been done"
        case .storage: "The database failed"
        case .noDaemon: "No daemon answers"
        case .permission: "Not permitted"
        case .outsideRoots: "The file lies outside the roots"
        case .credentialRefused: "The credential may not be sent there"
        case .internal: "A defect of Halyard"
        }
    }
}
