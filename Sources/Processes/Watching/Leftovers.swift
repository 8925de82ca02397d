import CLauncher
import Glibc

/// The processes and groups that remain after their process has ended: orphans, if this program adopts them, and groups
/// that were not yet empty.
struct Leftovers {
    /// The time to try again. Nil if nothing is left.
    private(set) var nextAt: ContinuousClock.Instant?
    private var groups: [Cgroup] = []
    /// The orphans that were killed and did not end in time.
    private var unkillable: Set<pid_t> = []
    private var wait = firstWait

    private static let firstWait: Duration = .milliseconds(50)
    private static let longestWait: Duration = .seconds(10)

    /// Kills all processes of the group and removes it, now or later.
    ///
    /// - Returns: The resources that its processes have used so far.
    mutating func remove(_ group: Cgroup) -> CgroupUsage {
        _ = group.kill()
        let isEmpty = group.waitUntilEmpty(atMost: .seconds(2))
        let usage = group.usage()
        if !isEmpty || !group.remove() {
            groups.append(group)
            nextAt = nextAt ?? .now + wait
        }
        return usage
    }

    /// Kills and reaps the orphans, and removes the groups that are empty by now.
    ///
    /// - Parameter orphans: The orphans that exist when it is called.
    mutating func clean(orphans: () -> [pid_t]) {
        // Waiting again for a process that waits for a device would delay the reports of all ends.
        let left = ProcessTree(limit: .seconds(2)).kill(childrenOf: getpid(), sparesRoots: false) {
            orphans().filter { !unkillable.contains($0) }
        }
        for orphan in orphans() { Self.reap(orphan) }
        let rest = orphans()
        unkillable = unkillable.union(left).intersection(rest)
        groups.removeAll { $0.remove() }
        let isDone = rest.isEmpty && groups.isEmpty
        wait = isDone ? Self.firstWait : min(wait * 2, Self.longestWait)
        nextAt = isDone ? nil : .now + wait
    }

    /// Reaps a child if it has ended.
    private static func reap(_ pid: pid_t) {
        let pidfd = launcher_open(pid)
        guard pidfd >= 0 else { return }
        var end = launcher_end()
        _ = launcher_reap(pidfd, &end)
        close(pidfd)
    }
}
