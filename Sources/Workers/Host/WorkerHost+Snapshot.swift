import Jobs
import Runner
import Synchronization
import WorkerProtocol

/// A worker program and its processes at one moment.
public struct WorkerSnapshot: Sendable, Hashable {
    /// The program.
    public var program: WorkerProgram
    /// The version that the program announced; nil if it has none or never ran.
    public var version: String?
    /// The kinds that the program announced, in its order; nil if it never ran.
    public var kinds: [KindDescription]?
    /// The processes, the oldest first.
    public var processes: [Process]
    /// The number of attempts that wait for a process.
    public var waiting: Int
    /// The number of processes that ended although nobody asked them to, since the daemon started.
    public var crashes: Int
    /// The time until the program starts again; nil if it does not rest.
    public var rest: Duration?
    /// The number of rests in a row, without the end of an attempt in between.
    public var rests: Int
    /// The reason why the program does not run, as a clause that follows its name; nil if it may run.
    public var fault: String?

    /// A process of a worker program.
    public struct Process: Sendable, Hashable {
        /// The stages of a process.
        public enum Phase: String, Sendable, Hashable, CaseIterable {
            /// The process has not announced its kinds yet.
            case starting
            /// The process accepts attempts.
            case ready
            /// The process gets no further attempts.
            case ending
        }

        /// The number of the process; nil until it is launched.
        public var pid: Int32?
        /// The stage of the process.
        public var phase: Phase
        /// The time since its launch.
        public var age: Duration
        /// The number of attempts in the process.
        public var attempts: Int
        /// Whether the process runs suspects, one at a time.
        public var isProbe: Bool
    }
}

extension WorkerHost {
    /// The program and its processes now.
    public var snapshot: WorkerSnapshot {
        let now = clock.now
        return core.withLock { core in
            let dispatcher = core.dispatcher
            let processes = dispatcher.members.sorted { $0.key < $1.key }.map { worker, member in
                let pid = core.processes[worker]?.pid ?? 0
                return WorkerSnapshot.Process(
                    pid: pid > 0 ? pid : nil, phase: member.phaseForPeople, age: now - member.launchedAt,
                    attempts: member.attempts.count, isProbe: member.isProbe)
            }
            let rest = dispatcher.rest.until.flatMap { $0 > now ? $0 - now : nil }
            return WorkerSnapshot(
                program: core.program, version: core.announcement?.version,
                kinds: core.announcement?.kinds.map(\.description), processes: processes,
                waiting: dispatcher.waiting.count + dispatcher.suspects.count, crashes: dispatcher.crashes,
                rest: rest, rests: dispatcher.rest.count, fault: core.fault(isResting: rest != nil))
        }
    }

    public var problem: String? { snapshot.problem }

    /// The introduction of the process that was launched last and introduced itself; nil if there was none.
    public var announcement: Announcement? { core.withLock(\.announcement) }

    /// Calls `body` whenever the program begins to rest. It replaces the former observer.
    public func observeRests(_ body: @escaping @Sendable () -> Void) { restObserver.withLock { $0 = body } }
}

extension WorkerSnapshot {
    /// The reason why no attempt can begin, and when that may change, as a sentence for people; nil if attempts can begin.
    public var problem: String? {
        fault.map { fault in
            let next = rest.map { "it starts again in \($0.roundedUp.human)" } ?? "it is starting again"
            return "worker \(program.name) \(fault); its jobs wait, and \(next)"
        }
    }
}

extension WorkerHost.Core {
    /// The reason why no attempt can begin, as a clause that follows the program's name.
    fileprivate func fault(isResting: Bool) -> String? {
        if isResting { return lastExit ?? "keeps exiting" }
        // The kinds of a program are unknown until it has run once.
        return announcement == nil ? lastExit : nil
    }
}

extension Dispatcher.Member {
    fileprivate var phaseForPeople: WorkerSnapshot.Process.Phase {
        switch phase {
        case .starting: .starting
        case .ready: isOpen ? .ready : .ending
        case .leaving, .killed: .ending
        }
    }
}

extension Duration {
    /// The duration in whole seconds, rounded up.
    fileprivate var roundedUp: Duration { .seconds((milliseconds + 999) / 1000) }
}
