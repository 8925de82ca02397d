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
        case .invalidRequest: "The request is invalid"
        case .methodNotAllowed: "The path does not support this method"
        case .invalidInput: "The input is invalid"
        case .unknownDefinition: "There is no such definition"
        case .unknownQueue: "There is no such queue"
        case .notFound: "Not found"
        case .invalidDefinitions: "The definitions are invalid"
        case .invalidConfiguration: "The configuration is invalid"
        case .keyReused: "The key was used for another request"
        case .conflict: "The current state does not allow it"
        case .inUse: "It is still in use"
        case .unmetDependency: "A dependency can no longer be met"
        case .tooLarge: "The request is too large"
        case .addressTooLong: "The address is too long"
        case .headTooLarge: "The head of the request is too large"
        case .unavailable: "Not now"
        case .unknownOutcome: "The request may or may not have taken effect"
        case .storage: "The database failed"
        case .noDaemon: "No daemon answers"
        case .permission: "Not permitted"
        case .outsideRoots: "The file is outside the roots"
        case .credentialRefused: "The credential must not be sent to that address"
        case .internal: "A defect of Halyard"
        }
    }
}
