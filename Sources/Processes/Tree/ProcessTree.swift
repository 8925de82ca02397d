import CLauncher
import Glibc

/// Ends processes that may start new ones at any moment.
///
/// 1. A process is stopped before its children are read, so that the list is complete: a stopped process cannot fork.
/// 2. Nothing is killed before a complete walk has found nothing new. A killed process would pass its children to another
///    parent, which may be one that the walk has left behind.
/// 3. A process is signalled only if its parent is the one whose list of children contained it, or another process of the
///    walk, which adopts it when that parent dies. The number of a stopped process cannot be reused.
struct ProcessTree {
    /// How long all walks together may take. A process that cannot be killed, because it waits for a device, must not
    /// stop the watcher.
    let deadline: ContinuousClock.Instant

    /// A process and the parent that named it.
    private struct Member: Hashable {
        var pid: pid_t
        var parent: pid_t
    }

    init(limit: Duration) { deadline = .now + limit }

    private var isLate: Bool { ContinuousClock.now >= deadline }

    /// Kills all descendants of these processes, then, unless `sparesRoots`, the processes themselves.
    ///
    /// - Parameters:
    ///   - parent: The parent of all roots.
    ///   - roots: Called before each walk.
    /// - Returns: The processes that were killed and have not ended in time.
    @discardableResult
    func kill(childrenOf parent: pid_t, sparesRoots: Bool, roots: () -> [pid_t]) -> Set<pid_t> {
        while true {
            let members = stop(parent, sparesRoots, roots)
            if members.isEmpty { return [] }
            let parents = Set(members.map(\.pid) + members.map(\.parent) + [parent])
            let killed = members.filter { signal($0.pid, SIGKILL, if: parents) }
            let alive = killed.filter { !waitForEnd(of: $0.pid) }
            if isLate { return Set(alive.map(\.pid)) }
        }
    }

    /// Stops all members, until a walk finds nothing new (1, 2).
    private func stop(_ parent: pid_t, _ sparesRoots: Bool, _ roots: () -> [pid_t]) -> Set<Member> {
        var known: Set<Member> = []
        while true {
            let before = known.count
            var found = roots().map { Member(pid: $0, parent: parent) }
            let rootCount = found.count
            var next = 0
            while next < found.count {
                let member = found[next]
                guard signal(member.pid, SIGSTOP, if: [member.parent]) else {
                    next += 1
                    continue
                }
                if next >= rootCount || !sparesRoots { known.insert(member) }
                found += children(of: member.pid).map { Member(pid: $0, parent: member.pid) }
                next += 1
                if isLate { return known }
            }
            if known.count == before { return known }
        }
    }

    /// Signals the process if it is alive and a child of one of these parents (3).
    private func signal(_ pid: pid_t, _ number: Int32, if parents: Set<pid_t>) -> Bool {
        let pidfd = launcher_open(pid)
        // Without a free descriptor, only the number is left.
        let isShort = pidfd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        guard pidfd >= 0 || isShort else { return false }
        defer { if pidfd >= 0 { close(pidfd) } }
        // A process without facts is hidden, not gone: the descriptor exists.
        if let facts = ProcessFacts(pid) {
            guard !facts.isDead, parents.contains(facts.parent) else { return false }
        } else if isShort {
            return false
        }
        return (isShort ? Glibc.kill(pid, number) : launcher_signal(pidfd, number)) == 0
    }

    /// - Returns: Whether the process ended before the deadline.
    private func waitForEnd(of pid: pid_t) -> Bool {
        let pidfd = launcher_open(pid)
        guard pidfd >= 0 else { return errno == ESRCH }
        defer { close(pidfd) }
        let left = (deadline - .now).components
        let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
        var ended = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&ended, 1, Int32(clamping: max(0, milliseconds))) == 1
    }
}
