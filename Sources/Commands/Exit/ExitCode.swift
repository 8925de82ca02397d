import ControlProtocol
import Jobs

/// The exit code of a command. The numbers never change: 1 to 4 say how the awaited jobs ended, and the codes
/// of `sysexits.h` say why the call itself failed.
public enum ExitCode: Int32, Sendable, Hashable, CaseIterable {
    /// The command was carried out, and every awaited job succeeded.
    case success = 0
    /// An awaited job failed.
    case jobFailed = 1
    /// An awaited job was cancelled.
    case jobCancelled = 2
    /// An awaited job was skipped.
    case jobSkipped = 3
    /// A job is still open.
    case jobOpen = 4
    /// The command line itself is invalid: it has an unknown word or option, or an invalid value.
    case usage = 64
    /// The request would be refused again: it does not fit the definitions, or something else uses what it names.
    case data = 65
    /// A file, job, graph, queue or definition does not exist.
    case noInput = 66
    /// The verb needs a daemon, and none answers.
    case unavailable = 69
    /// A defect of Halyard.
    case software = 70
    /// Reading or writing failed.
    case inputOutput = 74
    /// The request is not possible now. The same request may be accepted later.
    case temporary = 75
    /// No permission to open the socket or a file, or to use the database.
    case permission = 77
    /// The definitions or the configuration were refused, or this release cannot use the database.
    case configuration = 78
    /// The reader of standard output has closed it, as after SIGPIPE.
    case outputClosed = 141

    var meaning: String {
        switch self {
        case .success: "Success; with --wait, every job succeeded."
        case .jobFailed: "A job failed (wait, watch, result and every verb with --wait)."
        case .jobCancelled: "A job was cancelled."
        case .jobSkipped: "A job was skipped, because a dependency did not meet its condition."
        case .jobOpen: "A job is not final yet (--timeout passed, or result was called too early)."
        case .usage: "The command line is invalid; see the verb's --help."
        case .data:
            "The request was refused: the input is invalid, something is still in use, some lines of --lines were refused, or a worker failed a check."
        case .noInput: "The named file, job, graph, queue or definition does not exist, or the job has no log or file."
        case .unavailable: "The verb needs a daemon, and none answers."
        case .software: "Halyard has a bug."
        case .inputOutput: "Reading or writing failed; the message says what was kept."
        case .temporary: "Not possible now; the same command may succeed later."
        case .permission: "Permission to open the socket or a file, or to use the database, was denied."
        case .configuration:
            "The definitions or the configuration were refused, or this release cannot use the database."
        case .outputClosed: "Standard output was closed by its reader."
        }
    }

    /// Determines the exit code of several jobs by the first of these that applies: open, failed, cancelled,
    /// skipped.
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
                .keyReused, .tooLarge, .addressTooLong, .headTooLarge, .unmetDependency:
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

    /// The problem code for a failed call; `internal` for the outcomes of jobs, since the call itself did not fail.
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

    /// The table of all exit codes for the help page.
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
