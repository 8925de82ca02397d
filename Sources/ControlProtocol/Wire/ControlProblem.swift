import Jobs

/// The reason why a verb failed: an RFC 9457 problem, and the error that every verb of ``JobControl`` throws.
public struct ControlProblem: Error, Sendable, Hashable {
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
        /// The document of definitions is wrong, or a change of definitions is refused. Nothing was changed.
        case invalidDefinitions = "invalid-definitions"
        /// The daemon's configuration; the message says what is wrong with it.
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

    /// Whether the submission itself is the cause, so that the same submission would be refused again. If
    /// false, the cause is the daemon, the database or the connection.
    public var isRefusal: Bool {
        switch code {
        case .invalidRequest, .methodNotAllowed, .invalidInput, .outsideRoots, .credentialRefused, .unknownDefinition,
            .unknownQueue,
            .notFound,
            .invalidDefinitions, .invalidConfiguration, .keyReused, .conflict, .inUse, .unmetDependency, .tooLarge,
            .addressTooLong, .headTooLarge:
            true
        case .unavailable, .unknownOutcome, .storage, .noDaemon, .permission, .internal: false
        }
    }

    /// The status code of the HTTP response.
    public var status: Int {
        switch code {
        case .invalidRequest: 400
        case .permission: 403
        case .unknownDefinition, .unknownQueue, .notFound: 404
        case .methodNotAllowed: 405
        case .conflict, .inUse, .unmetDependency: 409
        case .tooLarge: 413
        case .addressTooLong: 414
        case .headTooLarge: 431
        case .invalidInput, .outsideRoots, .credentialRefused, .invalidDefinitions, .invalidConfiguration, .keyReused:
            422
        case .internal, .storage, .unknownOutcome: 500
        case .unavailable, .noDaemon: 503
        }
    }
}

extension ControlProblem {
    /// Creates the problem for a job that does not exist.
    package static func noJob(_ id: JobID) -> ControlProblem {
        ControlProblem(
            .notFound, "There is no job \(id); it may have been pruned. To see all jobs: halyard list")
    }

    package static func noGraph(_ id: GraphID) -> ControlProblem {
        ControlProblem(
            .notFound, "There is no graph \(id); it may have been pruned. To see all graphs: halyard graph")
    }
}

/// Makes a sentence of a clause, since the model describes its problems in clauses.
package func sentence(_ clause: String) -> String {
    guard let first = clause.first else { return clause }
    let ending = clause.hasSuffix(".") || clause.hasSuffix("?") ? "" : "."
    return first.uppercased() + clause.dropFirst() + ending
}
