import Control
import Jobs

/// What the shell learns. The numbers are a promise: `sysexits.h` for what went wrong with the call, 1 to 4 for how the
/// jobs ended that were waited for.
public enum ExitCode: Int32, Sendable, Hashable, CaseIterable {
    case success = 0
    case jobFailed = 1
    case jobCancelled = 2
    case jobSkipped = 3
    case jobOpen = 4
    /// Wrong whatever the daemon knows: a word or option that there is not, or that cannot be read.
    case usage = 64
    /// Refused as it is, also by the next try: it does not fit what is defined, or something else uses it.
    case data = 65
    case noInput = 66
    case unavailable = 69
    case software = 70
    case inputOutput = 74
    /// The same may be accepted later, without a change of what is asked for.
    case temporary = 75
    case permission = 77
    case configuration = 78
    case outputClosed = 141

    var meaning: String {
        switch self {
        case .success: "Done; every job waited for succeeded."
        case .jobFailed: "A job failed (wait, watch, result, and each verb with --wait)."
        case .jobCancelled: "A job was cancelled."
        case .jobSkipped: "A job was skipped, because a dependency did not meet its condition."
        case .jobOpen: "A job is still open (the time ran out, or result was asked too early)."
        case .usage: "The command line cannot be read: see the verb's --help."
        case .data: "Refused as it is: an input that does not fit, something still in use; or some lines of --lines."
        case .noInput: "A file, job, graph, queue or definition of that name does not exist."
        case .unavailable: "No daemon answers, and the verb needs one."
        case .software: "A defect of Halyard."
        case .inputOutput: "Reading or writing failed; see the message for what was kept."
        case .temporary: "Not possible now; the same may be later."
        case .permission: "The socket or a file may not be opened."
        case .configuration: "The definitions or the configuration were refused."
        case .outputClosed: "Standard output was closed by its reader."
        }
    }

    /// For several jobs the first that holds: still open, failed, cancelled, skipped.
    init(states: some Sequence<JobState>) {
        let states = Set(states)
        self =
            if states.contains(where: { !$0.isFinal }) {
                .jobOpen
            } else if states.contains(.failed) {
                .jobFailed
            } else if states.contains(.cancelled) {
                .jobCancelled
            } else if states.contains(.skipped) {
                .jobSkipped
            } else {
                .success
            }
    }

    init(_ code: ControlProblem.Code) {
        self =
            switch code {
            case .invalidRequest, .methodNotAllowed, .invalidInput, .inUse, .outsideRoots, .credentialRefused,
                .keyReused, .tooLarge, .unmetDependency:
                .data
            case .unknownDefinition, .unknownQueue, .notFound: .noInput
            case .invalidDefinitions, .invalidConfiguration: .configuration
            case .conflict, .unavailable: .temporary
            case .unknownOutcome, .storage: .inputOutput
            case .noDaemon: .unavailable
            case .permission: .permission
            case .internal: .software
            }
    }

    /// What went wrong, in one word; that jobs did not succeed is no problem of the call.
    fileprivate var problem: ControlProblem.Code {
        switch self {
        case .usage: .invalidRequest
        case .data: .invalidInput
        case .noInput: .notFound
        case .unavailable: .noDaemon
        case .inputOutput, .outputClosed: .storage
        case .temporary: .unavailable
        case .permission: .permission
        case .configuration: .invalidDefinitions
        case .jobOpen: .conflict
        case .success, .jobFailed, .jobCancelled, .jobSkipped, .software: .internal
        }
    }

    /// The table for the help page.
    static var table: String {
        allCases.map { code in
            let number = String(code.rawValue)
            return String(repeating: " ", count: 5 - number.count) + number + "  " + code.meaning
        }.joined(separator: "\n")
    }
}

extension ControlProblem.Code {
    init(_ exit: ExitCode) { self = exit.problem }
}
