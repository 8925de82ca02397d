import API
import ControlProtocol
import Glibc
import Jobs
import Runner
import Stores
import Systemd

/// Why the daemon failed: the exit status for the shell and the service manager, and the reason for people.
///
/// | status | meaning |
/// | --- | --- |
/// | 0 | stopped on request; every running job was drained or returned |
/// | 64 | the command line is wrong |
/// | 70 | a defect of Halyard |
/// | 73 | the control socket cannot be created |
/// | 74 | reading or writing failed, or a file or folder cannot be used at the moment; a new start may help |
/// | 75 | temporary: another process uses the database, its server cannot be reached, or the disk is full |
/// | 78 | the configuration or the database must be corrected first; a new start does not help |
public struct DaemonFailure: Error, Sendable, CustomStringConvertible {
    /// An exit status; the table of ``DaemonFailure`` explains each.
    public enum Status: Int32, Sendable, Hashable {
        /// The command line is wrong.
        case usage = 64
        /// A defect of Halyard.
        case defect = 70
        /// The control socket cannot be created.
        case socket = 73
        /// Reading or writing failed. A new start may help.
        case inputOutput = 74
        /// Another process uses the database, its server cannot be reached, or the disk is full. A later start may
        /// succeed.
        case temporary = 75
        /// The configuration or the database must be corrected first.
        case configuration = 78
    }

    /// The exit status.
    public var status: Status
    /// The problem and its remedy, with one line for each problem.
    public var reason: String
    /// The error code for the service manager's `ERRNO=`.
    public var errno: Int32

    /// Creates a failure.
    public init(_ status: Status, _ reason: String, errno: Int32) {
        self.status = status
        self.reason = reason
        self.errno = errno
    }

    public var description: String { reason }

    /// Converts an error to its exit status and reason. An error of unknown type becomes ``Status/defect``.
    public init(_ error: any Error) {
        switch error {
        case let failure as DaemonFailure: self = failure
        case let error as ConfigurationProblem:
            self.init(
                error.transientCode == nil ? .configuration : .inputOutput, error.description,
                errno: error.transientCode ?? EINVAL)
        case let error as PassedSocketError: self.init(.configuration, error.description, errno: ENOTSOCK)
        case let error as SocketError: self.init(.socket, error.description, errno: EADDRINUSE)
        case let error as ControlProblem:
            switch error.code {
            // Failures of the store, reported as a control problem.
            case .unavailable, .unknownOutcome: self.init(.temporary, error.message, errno: EAGAIN)
            case .storage: self.init(.inputOutput, error.message, errno: EIO)
            default: self.init(.configuration, error.message, errno: EIO)
            }
        case let error as KernelTimerError:
            self.init(.inputOutput, sentence(error.description), errno: error.errorNumber)
        case let error as KindRegistryProblem: self.init(.configuration, error.description, errno: EINVAL)
        case let error as StoreOpenFailure: self.init(error)
        case let error as StoreError: self.init(error)
        default: self.init(.defect, "\(error). This is a defect; please report it.", errno: EIO)
        }
    }

    /// The built-in worker cannot run, and nothing can be checked without it.
    ///
    /// - Parameter reason: A clause that follows the worker's name.
    init(ofWorker reason: String) {
        self.init(
            .inputOutput, "halyard-worker \(reason); it belongs in the folder of halyardd; see the log for details.",
            errno: ENOEXEC)
    }

    private init(_ error: StoreOpenFailure) {
        let (status, code): (Status, Int32) =
            switch error.cause {
            case .reserved: (.temporary, EBUSY)
            case .busy: (.temporary, EAGAIN)
            case .passing(let code): (.temporary, code)
            case .inputOutput(let code): (.inputOutput, code)
            case .missing, .unreadable, .readOnly, .moved, .otherProgram, .unusable, .wrong: (.configuration, EINVAL)
            }
        self.init(status, error.description, errno: code)
    }

    private init(_ error: StoreError) {
        let (status, code): (Status, Int32) =
            switch error {
            // A start can simply be repeated.
            case .busy: (.temporary, EBUSY)
            case .diskFull: (.temporary, ENOSPC)
            case .unreachable, .unanswered: (.temporary, EHOSTUNREACH)
            // The other life may end.
            case .identityInUse: (.temporary, EADDRINUSE)
            // A restart would fail in the same way, and the running jobs would count as crashed.
            case .readOnly: (.configuration, EROFS)
            case .moved: (.configuration, ESTALE)
            case .denied: (.configuration, EACCES)
            // Even damage may be a temporary read error. Only a start can confirm it on the disk.
            default: (.inputOutput, EIO)
            }
        self.init(status, error.description, errno: code)
    }
}
