/// The reason why a verb failed: an RFC 9457 problem, and the error of every ``JobControl``.
public struct ControlProblem: Error, Sendable, Hashable {
    /// The problem's stable code: the last part of its `type` URI.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The request itself is wrong; the message says how.
        case invalidRequest = "invalid-request"
        /// The path does not take this method.
        case methodNotAllowed = "method-not-allowed"
        case invalidInput = "invalid-input"
        /// The input names a file outside the daemon's roots. Send the file to the spool and name the spooled file
        /// instead.
        case outsideRoots = "outside-roots"
        /// The input names a credential that may not be sent to its address.
        case credentialRefused = "credential-refused"
        case unknownDefinition = "unknown-definition"
        case unknownQueue = "unknown-queue"
        case notFound = "not-found"
        case invalidDefinitions = "invalid-definitions"
        /// The daemon's configuration; the message says what is wrong with it.
        case invalidConfiguration = "invalid-configuration"
        /// The key was used for another request.
        case keyReused = "key-reused"
        /// The job's state does not allow it.
        case conflict = "conflict"
        /// Something else, which the message names, refers to it and must be changed first.
        case inUse = "in-use"
        /// A dependency can never meet its condition; the message says what to do instead.
        case unmetDependency = "unmet-dependency"
        case tooLarge = "too-large"
        /// The daemon is stopping or cannot write now. Nothing was done, so it is safe to retry.
        case unavailable = "unavailable"
        /// The request may or may not have been carried out; repeat it with an idempotency key.
        case unknownOutcome = "unknown-outcome"
        case storage = "storage"
        /// No daemon answers, and the verb needs one.
        case noDaemon = "no-daemon"
        case permission = "permission"
        case `internal` = "internal"
    }

    public var code: Code
    /// One sentence for people, which ends with what to do.
    public var message: String
    /// The single problems, if there are several.
    public var details: [String]

    public init(_ code: Code, _ message: String, details: [String] = []) {
        self.code = code
        self.message = message
        self.details = details
    }

    /// Whether the submission itself is the cause, so that the same submission will be refused again. Otherwise the
    /// daemon is.
    public var isRefusal: Bool {
        switch code {
        case .invalidRequest, .methodNotAllowed, .invalidInput, .outsideRoots, .credentialRefused, .unknownDefinition,
            .unknownQueue,
            .notFound,
            .invalidDefinitions, .invalidConfiguration, .keyReused, .conflict, .inUse, .unmetDependency, .tooLarge:
            true
        case .unavailable, .unknownOutcome, .storage, .noDaemon, .permission, .internal: false
        }
    }

    /// The status of the HTTP answer.
    public var status: Int {
        switch code {
        case .invalidRequest: 400
        case .permission: 403
        case .unknownDefinition, .unknownQueue, .notFound: 404
        case .methodNotAllowed: 405
        case .conflict, .inUse, .unmetDependency: 409
        case .tooLarge: 413
        case .invalidInput, .outsideRoots, .credentialRefused, .invalidDefinitions, .invalidConfiguration, .keyReused:
            422
        case .internal, .storage, .unknownOutcome: 500
        case .unavailable, .noDaemon: 503
        }
    }
}
