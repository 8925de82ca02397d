import Jobs

/// The reason why a verb failed: an RFC 9457 problem, and the error that every verb of ``JobControl`` throws.
public struct ControlProblem: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem's stable code: the last part of its `type` URI.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The request itself is wrong; the message says how.
        case invalidRequest = "invalid-request"
        /// The path does not support this method.
        case methodNotAllowed = "method-not-allowed"
        /// An input does not fit its kind or its graph definition.
        case invalidInput = "invalid-input"
        /// The input names a file outside the daemon's roots. Send the file to the spool and name the spooled file
        /// instead.
        case outsideRoots = "outside-roots"
        /// The input names a credential that may not be sent to its address.
        case credentialRefused = "credential-refused"
        /// There is no definition or graph definition of that name, or it is refused.
        case unknownDefinition = "unknown-definition"
        /// There is no queue of that name.
        case unknownQueue = "unknown-queue"
        /// There is no such job, graph, definition or schedule; it may have been pruned or removed.
        case notFound = "not-found"
        /// The document of definitions is wrong, or a change to definitions is refused. Nothing was changed.
        case invalidDefinitions = "invalid-definitions"
        /// The daemon's configuration is invalid; the message says why.
        case invalidConfiguration = "invalid-configuration"
        /// The key was used for another request.
        case keyReused = "key-reused"
        /// The job's current state does not allow the request.
        case conflict = "conflict"
        /// Another entry, which the message names, refers to it and must be changed first.
        case inUse = "in-use"
        /// A dependency can never meet its condition; the message says what to do instead.
        case unmetDependency = "unmet-dependency"
        /// The request, or something in it, exceeds a limit that the message names.
        case tooLarge = "too-large"
        /// The request's address has more bytes than the server reads.
        case addressTooLong = "address-too-long"
        /// The request's header fields have more bytes than the server reads, or there are too many.
        case headTooLarge = "head-too-large"
        /// The request is not possible now, for example because the daemon is stopping or the disk is full.
        /// Nothing was done, so retrying is safe.
        case unavailable = "unavailable"
        /// The request may or may not have been carried out. Repeating it is safe only with an idempotency key.
        case unknownOutcome = "unknown-outcome"
        /// The database or a file could not be read or written.
        case storage = "storage"
        /// No daemon answers, and the verb needs one.
        case noDaemon = "no-daemon"
        /// This user lacks the permission.
        case permission = "permission"
        /// A defect of Halyard.
        case `internal` = "internal"
    }

    /// The problem's type.
    public var code: Code
    /// One sentence for people, which says what to do about the problem.
    public var message: String
    /// The individual problems, if there are several.
    public var details: [String]

    /// Creates a problem. `message` ends with what to do about it.
    public init(_ code: Code, _ message: String, details: [String] = []) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// The message, and a line for each of the ``details``.
    public var description: String { ([message] + details.map { "- \($0)" }).joined(separator: "\n") }

    /// Whether the submission itself is the cause, so that the same submission would be refused again. If
    /// false, the cause is the daemon, the database, the connection or this user's permission.
    public var isRefusal: Bool { status < 500 && code != .permission }

    /// The status code of the HTTP response.
    public var status: Int { code.response.status }
}

extension ControlProblem.Code {
    /// The status code of the HTTP response, and a short description, which are the same for every problem with this
    /// code.
    var response: (status: Int, title: String) {
        switch self {
        case .invalidRequest: (400, "The request is invalid")
        case .permission: (403, "Not permitted")
        case .unknownDefinition: (404, "There is no such definition")
        case .unknownQueue: (404, "There is no such queue")
        case .notFound: (404, "Not found")
        case .methodNotAllowed: (405, "The path does not support this method")
        case .conflict: (409, "The current state does not allow it")
        case .inUse: (409, "It is still in use")
        case .unmetDependency: (409, "A dependency can no longer be met")
        case .tooLarge: (413, "The request is too large")
        case .addressTooLong: (414, "The address is too long")
        case .invalidInput: (422, "The input is invalid")
        case .outsideRoots: (422, "The file is outside the roots")
        case .credentialRefused: (422, "The credential must not be sent to that address")
        case .invalidDefinitions: (422, "The definitions are invalid")
        case .invalidConfiguration: (422, "The configuration is invalid")
        case .keyReused: (422, "The key was used for another request")
        case .headTooLarge: (431, "The head of the request is too large")
        case .unknownOutcome: (500, "The request may or may not have taken effect")
        case .storage: (500, "The database failed")
        case .internal: (500, "A defect of Halyard")
        case .unavailable: (503, "Not now")
        case .noDaemon: (503, "No daemon answers")
        }
    }
}

extension ControlProblem {
    /// Creates the problem for a job that does not exist.
    package static func noJob(_ id: JobID) -> ControlProblem {
        ControlProblem(
            .notFound, "There is no job \(id); it may have been pruned. To see all jobs: halyard list")
    }

    /// Creates the problem for a name that does not exist. It suggests the nearest of the names, or lists all.
    package static func unknown(_ noun: String, _ name: String, among names: [String]) -> ControlProblem {
        ControlProblem(.notFound, sentence(NearestName.unknown(noun, name, among: names, listing: "there are")))
    }

    /// A submission has no response, which is a bug.
    package static let noResponse = ControlProblem(
        .internal, "The submission received no response. Please report this bug.")

    package static func noGraph(_ id: GraphID) -> ControlProblem {
        ControlProblem(
            .notFound, "There is no graph \(id); it may have been pruned. To see all graphs: halyard graph")
    }
}

/// Turns a clause into a sentence, since the types in `Jobs` describe their problems in clauses.
package func sentence(_ clause: String) -> String {
    guard let first = clause.first else { return clause }
    let ending = clause.hasSuffix(".") || clause.hasSuffix("?") ? "" : "."
    return first.uppercased() + clause.dropFirst() + ending
}
