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
        var onExit: @Sendable (ProcessEnd) -> Void
        /// The end of the grace period, once the process has been asked to end.
        var killsAt: ContinuousClock.Instant?
    }

    /// The state of killing orphans.
    private struct Sweep {
        /// The orphans that were killed and did not end in time.
        var unkillable: Set<pid_t> = []
        /// Set while orphans are left.
        var nextAt: ContinuousClock.Instant?
        var wait = firstWait

        static let firstWait: Duration = .milliseconds(50)
        static let longestWait: Duration = .seconds(10)
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
    private let sweep = Mutex(Sweep())

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
            state.watched[pid] = Watched(pidfd: pidfd, onExit: onExit)
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
            if let time = sweep.withLock(\.nextAt), time <= .now { killOrphans() }
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
            let isWatched = state.withLock { state in
                state.watched[pid]?.killsAt = nil
                return state.watched[pid] != nil
            }
            if isWatched { killTree(pid) }
        }
    }

    private func collect(_ pid: pid_t) {
        guard let watched = state.withLock({ $0.watched[pid] }) else { return }
        // Until the process is reaped, the number of its group and session cannot be reused.
        killLeftovers(of: pid)
        var end = launcher_end()
        let reaped = launcher_reap(watched.pidfd, &end)
        if reaped == 0 {
            // A tracer, such as strace, sees the end first.
            usleep(1000)
            return
        }
        state.withLock { $0.watched[pid] = nil }
        close(watched.pidfd)
        watched.onExit(reaped == 1 ? ProcessEnd(end) : ProcessEnd(status: .unknown))
    }

    /// Kills a process that has not been reaped, with all its descendants.
    private func killTree(_ pid: pid_t) {
        // One call stops most of the tree.
        Glibc.kill(-pid, SIGSTOP)
        // The process dies last: while it lives, it adopts the orphans of its tree.
        ProcessTree(limit: .seconds(5)).kill(childrenOf: getpid(), sparesRoots: true) { [pid] }
        Glibc.kill(-pid, SIGKILL)
    }

    /// Kills the processes that an ended process has left.
    private func killLeftovers(of pid: pid_t) {
        Glibc.kill(-pid, SIGKILL)
        if Orphans.areAdopted { killOrphans() }
    }

    private func killOrphans() {
        let tree = ProcessTree(limit: .seconds(2))
        sweep.withLock { sweep in
            let unkillable = sweep.unkillable
            // Waiting again for a process that waits for a device would delay the reports of all ends.
            let left = tree.kill(childrenOf: getpid(), sparesRoots: false) {
                orphans().filter { !unkillable.contains($0) }
            }
            for orphan in orphans() { reap(orphan) }
            let rest = orphans()
            sweep.unkillable = unkillable.union(left).intersection(rest)
            sweep.wait = rest.isEmpty ? Sweep.firstWait : min(sweep.wait * 2, Sweep.longestWait)
            sweep.nextAt = rest.isEmpty ? nil : .now + sweep.wait
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

    /// Reaps a child if it has ended.
    private func reap(_ pid: pid_t) {
        let pidfd = launcher_open(pid)
        guard pidfd >= 0 else { return }
        var end = launcher_end()
        _ = launcher_reap(pidfd, &end)
        close(pidfd)
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
        guard let next = (kills + [sweep.withLock(\.nextAt)].compactMap(\.self)).min() else { return -1 }
        let left = (next - .now).components
        // Rounded up, so that the thread does not wake just before the time.
        return Int32(clamping: max(0, left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1))
    }
}

extension ProcessEnd {
    init(_ end: launcher_end) {
        var usage = ResourceUsage()
        usage.userTime = Duration(end.usage.ru_utime)
        usage.systemTime = Duration(end.usage.ru_stime)
        usage.maxResidentBytes = UInt64(max(0, end.usage.ru_maxrss)) * 1024
        let status: Status =
            end.code == Int32(CLD_EXITED)
            ? .exited(end.status) : .signalled(end.status, dumpedCore: end.code == Int32(CLD_DUMPED))
        self.init(status: status, usage: usage)
    }
}

extension Duration {
    fileprivate init(_ time: timeval) {
        self = .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }
}
