import Glibc

/// A running process that this program started. Releasing it does not end the process.
public struct LaunchedProcess: Sendable {
    /// The process, and also its session and process group. The number may belong to another process once the end has been
    /// reported.
    public let pid: pid_t
    let watcher: ProcessWatcher

    /// Asks all processes of the group to end (SIGTERM), and kills the tree if the process still runs after the grace period.
    ///
    /// Returns at once; the end is reported as always. A later call can only shorten the grace period.
    public func terminate(grace: Duration) { watcher.request(.terminate(pid, grace)) }

    /// Kills the process and all its descendants, even those that have left its group and session.
    ///
    /// Returns at once; the end is reported as always. Before they are killed, all of them are stopped, so that a program that
    /// forks without end cannot escape. The descendants are complete if ``LaunchPlan/adoptsOrphans`` was set or the process
    /// has a cgroup.
    public func kill() { watcher.request(.kill(pid)) }

    /// Sends a signal to all processes of the group. Does nothing once the process has ended.
    public func signal(_ number: Int32) { watcher.request(.signal(pid, number)) }

    /// Whether a signal such as SIGSTOP has stopped the process. Ask only before the end has been reported.
    public var isStopped: Bool { ProcessFacts(pid)?.isStopped ?? false }
}

extension LaunchPlan {
    /// Starts the process and returns when it executes its program.
    ///
    /// Blocks the calling thread for about a millisecond, or for as long as the kernel needs to open the file. Processes that
    /// other code of this program started are never reaped, and no handler for SIGCHLD is installed.
    ///
    /// - Parameter onExit: Called exactly once, on a thread that all processes share, so it must return quickly. It may be
    ///   called before this function returns. When it is called, the process is reaped, and the processes that it left
    ///   are killed (see ``Orphans``).
    /// - Throws: ``LaunchError``; `onExit` is then never called. Retrying is safe.
    public func launch(onExit: @escaping @Sendable (ProcessEnd) -> Void) throws(LaunchError) -> LaunchedProcess {
        let watcher = try ProcessWatcher.shared(for: self)
        return LaunchedProcess(pid: try watcher.launch(self, onExit), watcher: watcher)
    }
}
