import CLauncher
import Glibc
import Synchronization

/// Reaps the processes that were launched, and signals them. One thread does both, so that a signal can never reach a
/// process that reuses the number of a reaped one.
final class ProcessWatcher: Sendable {
    enum Request {
        case signal(pid_t, Int32)
        case terminate(pid_t, Duration)
        case kill(pid_t)
    }

    private struct Watched {
        var pidfd: Int32
        var group: Cgroup?
        var onExit: @Sendable (ProcessEnd) -> Void
        /// The end of the grace period, once the process has been asked to end.
        var killsAt: ContinuousClock.Instant?
    }

    private struct State {
        var watched: [pid_t: Watched] = [:]
        var requests: [Request] = []
    }

    private static let only = Mutex<ProcessWatcher?>(nil)

    private let state = Mutex(State())
    private let events: Int32
    private let wake: Int32
    /// Only the watcher's thread uses it, so the lock is always free.
    private let leftovers = Mutex(Leftovers())

    /// The watcher of this program, started by the first launch.
    static func shared(for plan: LaunchPlan) throws(LaunchError) -> ProcessWatcher {
        try only.withLock { watcher throws(LaunchError) in
            if let watcher { return watcher }
            let new = try ProcessWatcher(for: plan)
            watcher = new
            return new
        }
    }

    private init(for plan: LaunchPlan) throws(LaunchError) {
        let events = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard events >= 0 else { throw .failed(.watch, program: plan.program, code: errno) }
        let wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wake >= 0, Self.add(wake, as: 0, to: events) else {
            let code = errno
            close(events)
            if wake >= 0 { close(wake) }
            throw .failed(.watch, program: plan.program, code: code)
        }
        self.events = events
        self.wake = wake
        let code = startThread { [self] in run() }
        guard code == 0 else {
            close(events)
            close(wake)
            throw .failed(.watch, program: plan.program, code: code)
        }
    }

    private static func add(_ descriptor: Int32, as pid: pid_t, to events: Int32) -> Bool {
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = UInt64(pid)
        return epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event) == 0
    }

    // MARK: Called from any thread

    func launch(
        _ plan: LaunchPlan, _ onExit: @escaping @Sendable (ProcessEnd) -> Void
    ) throws(LaunchError) -> pid_t {
        // The lock spans the start and the entry, so that this program knows each process with a session of its own.
        try state.withLock { state throws(LaunchError) in
            let (pid, pidfd) = try plan.start()
            guard Self.add(pidfd, as: pid, to: events) else {
                let code = errno
                discard(pidfd)
                throw .failed(.watch, program: plan.program, code: code)
            }
            state.watched[pid] = Watched(pidfd: pidfd, group: plan.group, onExit: onExit)
            return pid
        }
    }

    private func discard(_ pidfd: Int32) {
        _ = launcher_signal(pidfd, SIGKILL)
        var end = launcher_end()
        var ended = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        while launcher_reap(pidfd, &end) == 0 { poll(&ended, 1, 10) }
        close(pidfd)
    }

    func request(_ request: Request) {
        state.withLock { $0.requests.append(request) }
        var one: UInt64 = 1
        // A full counter is harmless, because the thread is then awake already.
        _ = write(wake, &one, MemoryLayout.size(ofValue: one))
    }

    // MARK: Called on the watcher's thread

    private func run() {
        var ready = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = epoll_wait(events, &ready, Int32(ready.count), millisecondsToNextKill())
            for event in ready.prefix(Int(max(0, count))) {
                if event.data.u64 == 0 { drain() } else { collect(pid_t(event.data.u64)) }
            }
            for request in state.withLock({ state in
                defer { state.requests = [] }
                return state.requests
            }) {
                perform(request)
            }
            for pid in overdue() { perform(.kill(pid)) }
            if let time = leftovers.withLock(\.nextAt), time <= .now { cleanUp() }
        }
    }

    private func drain() {
        var count: UInt64 = 0
        _ = read(wake, &count, MemoryLayout.size(ofValue: count))
    }

    private func perform(_ request: Request) {
        switch request {
        case .signal(let pid, let number):
            if state.withLock({ $0.watched[pid] }) != nil { Glibc.kill(-pid, number) }
        case .terminate(let pid, let grace):
            let end = ContinuousClock.now + grace
            let isWatched = state.withLock { state in
                guard let watched = state.watched[pid] else { return false }
                state.watched[pid]?.killsAt = min(watched.killsAt ?? end, end)
                return true
            }
            guard isWatched else { return }
            Glibc.kill(-pid, SIGTERM)
            // A stopped process must continue to handle the signal.
            Glibc.kill(-pid, SIGCONT)
        case .kill(let pid):
            let watched = state.withLock { state in
                state.watched[pid]?.killsAt = nil
                return state.watched[pid]
            }
            if let watched { killTree(pid, watched.group) }
        }
    }

    private func collect(_ pid: pid_t) {
        guard let watched = state.withLock({ $0.watched[pid] }) else { return }
        if launcher_has_ended(watched.pidfd) == 0 {
            // A tracer, such as strace, sees the end first.
            usleep(1000)
            return
        }
        // Until the process is reaped, the number of its group cannot be reused.
        Glibc.kill(-pid, SIGKILL)
        let groupUsage = leftovers.withLock { leftovers in
            let usage = watched.group.map { leftovers.remove($0) }
            if Orphans.areAdopted { leftovers.clean(orphans: orphans) }
            return usage
        }
        var end = launcher_end()
        let isReaped = launcher_reap(watched.pidfd, &end) == 1
        state.withLock { $0.watched[pid] = nil }
        close(watched.pidfd)
        watched.onExit(
            isReaped ? ProcessEnd(end, groupUsage) : ProcessEnd(status: .unknown, groupUsage: groupUsage))
    }

    /// Kills a process that has not been reaped, with all its descendants.
    private func killTree(_ pid: pid_t, _ group: Cgroup?) {
        // The walk is still needed: a process may have moved itself to another group of the same user.
        _ = group?.kill()
        // One call stops most of the tree.
        Glibc.kill(-pid, SIGSTOP)
        // The process dies last: while it lives, it adopts the orphans of its tree.
        ProcessTree(limit: .seconds(5)).kill(childrenOf: getpid(), sparesRoots: true) { [pid] }
        Glibc.kill(-pid, SIGKILL)
    }

    private func cleanUp() {
        leftovers.withLock { leftovers in
            leftovers.clean { Orphans.areAdopted ? orphans() : [] }
        }
    }

    /// The children of this program that belong to launched processes, but were not launched themselves. No launched process
    /// can return to the session of this program.
    private func orphans() -> [pid_t] {
        // No launch is in progress while the lock is held, so each launched process is in the table.
        let session = getsid(0)
        return state.withLock { state in
            children(of: getpid()).filter { pid in
                // Unlike /proc, this call also works for hidden processes.
                state.watched[pid] == nil && getsid(pid) != session
            }
        }
    }

    private func overdue() -> [pid_t] {
        let now = ContinuousClock.now
        return state.withLock { state in
            state.watched.filter { $0.value.killsAt.map { $0 <= now } ?? false }.map(\.key)
        }
    }

    /// -1 means to wait for an event.
    private func millisecondsToNextKill() -> Int32 {
        let kills = state.withLock { $0.watched.values.compactMap(\.killsAt) }
        guard let next = (kills + [leftovers.withLock(\.nextAt)].compactMap(\.self)).min() else { return -1 }
        let left = (next - .now).components
        // Rounded up, so that the thread does not wake just before the time.
        return Int32(clamping: max(0, left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1))
    }
}

extension ProcessEnd {
    init(_ end: launcher_end, _ groupUsage: CgroupUsage?) {
        var usage = ResourceUsage()
        usage.userTime = Duration(end.usage.ru_utime)
        usage.systemTime = Duration(end.usage.ru_stime)
        usage.maxResidentBytes = UInt64(max(0, end.usage.ru_maxrss)) * 1024
        usage.bytesRead = UInt64(max(0, end.usage.ru_inblock)) * 512
        usage.bytesWritten = UInt64(max(0, end.usage.ru_oublock)) * 512
        let status: Status =
            end.code == Int32(CLD_EXITED)
            ? .exited(end.status) : .signalled(end.status, dumpedCore: end.code == Int32(CLD_DUMPED))
        self.init(status: status, usage: usage, groupUsage: groupUsage)
    }
}

extension Duration {
    fileprivate init(_ time: timeval) {
        self = .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }
}
