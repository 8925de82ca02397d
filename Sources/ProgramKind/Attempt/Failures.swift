import Glibc
import Jobs
import Processes

/// The failures of the kind `program`.
enum ProgramFailure {
    enum Code {
        static let refused = "program_refused"
        static let notStarted = "program_not_started"
        static let outOfMemory = "out_of_memory"
        static let outputTooLarge = "output_too_large"
        static let noOutput = "no_output"
        static let damagedDependency = "dependency_damaged"
        static let changedDependency = "dependency_changed"
        static let notKept = "output_not_kept"
        static let stopped = "stopped"
        static let lost = "program_lost"
    }

    static func make(_ code: String, _ message: String, isRetryable: Bool = false, detail: JSONText? = nil)
        -> TryFailure
    {
        TryFailure(JobFailure(code: code, message: message, detail: detail), isRetryable: isRetryable)
    }

    static func refused(_ problem: ExecutableProblem) -> TryFailure {
        make(problem.isTransient ? Code.notStarted : Code.refused, "\(problem).", isRetryable: problem.isTransient)
    }

    static func notStarted(_ problem: some CustomStringConvertible) -> TryFailure {
        make(Code.notStarted, "the program did not start: \(problem).", isRetryable: true)
    }

    static func notLaunched(_ error: LaunchError) -> TryFailure {
        guard case .failed(let step, _, let code) = error else { return make(Code.refused, error.description) }
        let isPermanent =
            step == .execute && [ENOEXEC, EACCES, EPERM, ENOENT, E2BIG, ELIBBAD, EINVAL].contains(code)
        return make(
            isPermanent ? Code.refused : Code.notStarted, error.description, isRetryable: !isPermanent)
    }

    /// The name of a signal in lower case, as failure codes are written.
    static func name(of signal: Int32) -> String {
        let names = [
            SIGHUP: "sighup", SIGINT: "sigint", SIGQUIT: "sigquit", SIGILL: "sigill", SIGTRAP: "sigtrap",
            SIGABRT: "sigabrt", SIGBUS: "sigbus", SIGFPE: "sigfpe", SIGKILL: "sigkill", SIGUSR1: "sigusr1",
            SIGSEGV: "sigsegv", SIGUSR2: "sigusr2", SIGPIPE: "sigpipe", SIGALRM: "sigalrm", SIGTERM: "sigterm",
            SIGXCPU: "sigxcpu", SIGXFSZ: "sigxfsz", SIGSYS: "sigsys",
        ]
        return names[signal] ?? "signal_\(signal)"
    }
}
