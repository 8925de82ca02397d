/// Everything that a new process gets. It inherits nothing else, except the user, the root folder, the namespaces and
/// the priority.
///
/// The process starts in a new session, with no new privileges, with the default action for all signals, and with no
/// signal blocked.
public struct LaunchPlan: Sendable, Equatable {
    public enum Executable: Sendable, Equatable {
        /// An absolute path, which is also the first element of the program's argument list.
        case path(String)
        /// An open file, so that the program is the one that the caller has checked, and the name that the program gets
        /// as the first element of its argument list.
        ///
        /// If the file is a script, the process also inherits this descriptor, and the interpreter reads the script from
        /// `/dev/fd/N`.
        case descriptor(Int32, name: String)
    }

    public var executable: Executable
    /// The arguments after the program's name. They reach the program unchanged; no shell reads them.
    public var arguments: [String]
    /// The complete environment.
    public var environment: [String: String]
    /// The working folder.
    public var folder: String
    /// Open descriptors of this process, by the number that the new process gets for each. The caller closes its own.
    ///
    /// If 0, 1 or 2 is missing, the process gets `/dev/null`. Descriptors that this process opens without `O_CLOEXEC`
    /// may leak into processes that other code starts.
    public var descriptors: [Int32: Int32]
    /// The permissions that new files do not get.
    public var mask: UInt32
    public var limits: ProcessLimits
    /// The cgroup of the process and its descendants, which no other process may have. Nil leaves the process in the cgroup
    /// of this program.
    public var group: Cgroup?
    /// Between -1000 and 1000. A process with a higher value is killed first when memory runs out; 500 protects this
    /// process from the memory use of its children.
    public var oomScoreAdjustment: Int
    /// Whether orphaned descendants become children of the new process (`PR_SET_CHILD_SUBREAPER`).
    ///
    /// If true, no descendant can leave the tree while the process runs, not even with `setsid` and a double fork, so that
    /// ``LaunchedProcess/kill()`` finds all of them without a cgroup. A program that waits for any child may see children
    /// that it did not start, as process 1 of a container does.
    public var adoptsOrphans: Bool
    /// Whether the kernel kills the process (not its descendants) when the thread that launches it ends, for example because
    /// this program was killed. Set it only if that thread outlives the process. Default: false.
    public var endsWithThread = false

    public init(
        _ executable: Executable, _ arguments: [String] = [], environment: [String: String] = [:],
        folder: String = "/", descriptors: [Int32: Int32] = [:], mask: UInt32 = 0o077,
        limits: ProcessLimits = ProcessLimits(), group: Cgroup? = nil, oomScoreAdjustment: Int = 500,
        adoptsOrphans: Bool = true
    ) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.descriptors = descriptors
        self.mask = mask
        self.limits = limits
        self.group = group
        self.oomScoreAdjustment = oomScoreAdjustment
        self.adoptsOrphans = adoptsOrphans
    }
}
