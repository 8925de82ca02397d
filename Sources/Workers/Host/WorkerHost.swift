import Dispatch
import Jobs
import Logging
import OperationTypes
import Processes
import Runner
import Synchronization
import WorkerProtocol

/// Runs the attempts of one worker program's kinds in its processes.
///
/// Processes are launched when there is work for them and drained when they are idle. Every attempt that was passed to
/// ``run(_:)`` ends, whatever the processes do. The rules are those of the program's dispatcher.
public final class WorkerHost: KindHost {
    struct Core {
        var program: WorkerProgram
        var dispatcher: Dispatcher
        var attempts: [Lease: HostedAttempt] = [:]
        /// The number of checkpoints of each attempt without an answer.
        var unansweredSaves: [Lease: Int] = [:]
        var processes: [Dispatcher.WorkerID: WorkerProcess] = [:]
        /// The processes with messages that were not sent yet.
        var unsent: Set<Dispatcher.WorkerID> = []
        var announcement: Announcement?
        var introductions: [Dispatcher.WorkerID: Latch<Introduction>] = [:]
        var nextIntroduction = Latch<Introduction>()
        var questions = Questions()
        /// Returns the state of a job, during a clean-up.
        var jobStates: (@Sendable (JobID, _ kind: String) async throws(StoreError) -> JobState?)?
        /// The processes that have exited, until their attempts have ended.
        var exits: [Dispatcher.WorkerID: ExitedProcess] = [:]
        /// The faults for which the daemon kills processes.
        var faults: [Dispatcher.WorkerID: WorkerFault] = [:]
        /// How the last process that was not asked to exit ended; a clause for people.
        var lastExit: String?
        var armed: Duration?
    }

    /// How a process answered the daemon's introduction.
    enum Introduction: Sendable {
        case announced(Announcement)
        case refused([SettingRefusal])
        /// The process ended without an answer, or its answer does not follow the protocol. The text says how.
        case failed(String)
    }

    let logger: Logger
    let version: String
    /// The cgroup below which each process gets one of its own; nil if there is none.
    let groups: CgroupRoot?
    let core: Mutex<Core>
    let clock: any AlarmClock<Duration>
    private let alarm = Mutex<(any Alarm<Duration>)?>(nil)
    private let launches: DispatchQueue
    private let roomObserver = Mutex<(@Sendable () -> Void)?>(nil)
    let announcementObserver = Mutex<(@Sendable (Announcement) -> Void)?>(nil)
    let restObserver = Mutex<(@Sendable () -> Void)?>(nil)
    let closed = Latch<Void>()

    /// Creates a host; no process is launched before there is work.
    ///
    /// - Parameters:
    ///   - version: The daemon's version, for the worker.
    ///   - groups: The cgroup below which each process gets one of its own. Without it, the descendants of a process are
    ///     found through their parents.
    public convenience init(_ program: WorkerProgram, version: String, groups: CgroupRoot? = nil, logger: Logger) {
        let limits = Dispatcher.Limits(processes: program.processes, attempts: program.attempts)
        self.init(program, limits: limits, version: version, groups: groups, logger: logger)
    }

    init(
        _ program: WorkerProgram, limits: Dispatcher.Limits, version: String, groups: CgroupRoot? = nil,
        logger: Logger, clock: any AlarmClock<Duration> = SystemUptimeClock()
    ) {
        self.logger = logger
        self.version = version
        self.groups = groups
        self.clock = clock
        core = Mutex(Core(program: program, dispatcher: Dispatcher(limits: limits)))
        launches = DispatchQueue(label: "halyard.worker.\(program.name)")
    }

    // MARK: Attempts

    /// The input must be smaller, so that its line has room for a checkpoint and the other fields.
    static let maxInputBytes = WorkerProtocol.maxLineBytes - Checkpoint.maxBytes - 16_384

    public func run(_ attempt: HostedAttempt) {
        // The definition's and the job's input together can be longer than a line.
        guard attempt.input.bytes.count < Self.maxInputBytes else {
            return attempt.onEnd(
                .failed(
                    .permanent(
                        JobFailure.Code.inputTooLarge,
                        "the inputs of the definition and of the job have \(attempt.input.bytes.count) bytes together; put large content into a file and pass its path."
                    )))
        }
        change { core in
            core.attempts[attempt.lease] = attempt
            return .run(attempt.lease, isSuspect: attempt.isSuspect)
        }
    }

    public func flush() {
        let processes = core.withLock { core in
            defer { core.unsent = [] }
            return core.unsent.compactMap { core.processes[$0] }
        }
        for process in processes { process.flush() }
    }

    public func stop(_ lease: Lease, _ reason: HostedStop) {
        change { core in
            guard let worker = core.dispatcher.worker(of: lease) else { return .withdraw(lease) }
            core.processes[worker]?.enqueue(.stop(lease, StopRequest(reason)))
            core.unsent.insert(worker)
            return nil
        }
        flush()
    }

    public func abandon(_ lease: Lease, after grace: Duration) { handle(.abandon(lease, after: grace)) }

    public func recorded(_ lease: Lease, kind: String) {
        let process = core.withLock { core -> WorkerProcess? in
            guard core.announcement?.kinds.contains(where: { $0.cleansUp && $0.description.name == kind }) == true,
                let worker = core.dispatcher.readyWorker
            else { return nil }
            core.processes[worker]?.enqueue(.recorded(lease, kind: kind))
            return core.processes[worker]
        }
        process?.flush()
    }

    public var room: Int { core.withLock { [now = clock.now] in $0.dispatcher.room(now: now) } }

    public var roomForSuspects: Int? { core.withLock { [now = clock.now] in $0.dispatcher.roomForSuspects(now: now) } }

    public func observeRoom(_ body: @escaping @Sendable () -> Void) { roomObserver.withLock { $0 = body } }

    /// Reports that there may be room now.
    func observeRoomNow() { roomObserver.withLock(\.self)?() }

    // MARK: The program

    /// Lets all processes finish and exit, and kills those that do not. Attempts that have not begun end as not run.
    ///
    /// When it returns, no process of the program is left.
    public func close() async {
        handle(.close)
        await closed.uncancellableWait()
    }

    // MARK: Events and actions

    func handle(_ event: Dispatcher.Event) { change { _ in event } }

    /// Changes the core, handles the event, and performs its actions. `then` reads the result before others change it.
    ///
    /// Messages are added to their process's buffer under the lock, so that they arrive in the order of the decisions.
    func change(_ body: (inout Core) -> Dispatcher.Event?, then: (inout Core) -> Void = { _ in }) {
        let now = clock.now
        var work = Work()
        core.withLock { core in
            guard let event = body(&core) else { return }
            for action in core.dispatcher.handle(event, now: now) { core.perform(action, &work) }
            then(&core)
            let alarmAt = core.dispatcher.alarmAt
            if alarmAt != core.armed { work.setsAlarm = true }
            core.armed = alarmAt
            work.isClosed = core.dispatcher.isClosed && core.dispatcher.isEmpty
            if case .run = event { return }
            work.sends = core.unsent.compactMap { core.processes[$0] }
            core.unsent = []
        }
        perform(work)
    }

    /// The steps that follow outside the lock.
    struct Work {
        var launches: [Dispatcher.WorkerID] = []
        var kills: [(process: WorkerProcess?, reason: Dispatcher.KillReason)] = []
        var examinations: [(worker: Dispatcher.WorkerID, process: WorkerProcess)] = []
        var ends: [(attempt: HostedAttempt, end: HostedEnd)] = []
        var sends: [WorkerProcess] = []
        var rest: Duration?
        var setsAlarm = false
        var isClosed = false
    }

    private func perform(_ work: Work) {
        for process in work.sends { process.flush() }
        for (process, reason) in work.kills {
            logger.error("worker \(name): killing process \(process?.pid ?? 0): \(reason.text)", metadata: metadata)
            process?.kill()
        }
        for (worker, process) in work.examinations where process.isStopped { handle(.stopped(worker)) }
        for worker in work.launches { launch(worker) }
        for (attempt, end) in work.ends { attempt.onEnd(end) }
        // The first failure of a program that never ran is reported by the caller who asked for its introduction.
        if let rest = work.rest, core.withLock({ $0.announcement != nil }) {
            logger.error(
                "worker \(name): its processes keep exiting; its jobs wait, and it starts again in \(rest.human)",
                metadata: metadata.merging(["HALYARD_EVENT": "worker-rests"]) { $1 })
        }
        if work.rest != nil { restObserver.withLock(\.self)?() }
        if work.setsAlarm { setAlarm() }
        if work.isClosed { closed.open() }
    }

    /// The metadata of every log entry about the program.
    var metadata: Logger.Metadata { ["HALYARD_WORKER": "\(name)"] }
    /// The metadata of each line that the program wrote.
    private var streamMetadata: Logger.Metadata { metadata.merging(["HALYARD_STREAM": "stderr"]) { $1 } }
    /// The program's name.
    var name: String { core.withLock(\.program.name) }

    // MARK: Alarm

    private func setAlarm() {
        alarm.withLock { alarm in
            if alarm == nil {
                do {
                    alarm = try clock.alarm { [weak self] in self?.alarmRang() }
                } catch {
                    logger.error("worker \(name): \(error)", metadata: metadata)
                }
            }
            alarm?.set(core.withLock(\.armed))
        }
    }

    private func alarmRang() {
        change { core in
            core.armed = nil
            return .alarm
        }
        // The kinds of a program that has never run are not known, so no job would ever ask for a process.
        change { core in
            core.announcement == nil && core.dispatcher.isEmpty && core.dispatcher.mayLaunch(now: clock.now)
                ? .needed : nil
        }
        roomObserver.withLock(\.self)?()
    }

    // MARK: Processes

    private func launch(_ worker: Dispatcher.WorkerID) {
        let program = core.withLock(\.program)
        launches.async { [self] in
            do throws(WorkerStartError) {
                let process = try WorkerProcess(observer: observer(of: worker))
                process.enqueue(
                    .hello(Hello(version: version, attempts: program.attempts, settings: program.settings)))
                core.withLock { $0.processes[worker] = process }
                try process.start(program, in: groups)
                process.flush()
                // It may have been given up meanwhile.
                if !core.withLock({ $0.dispatcher.wants(worker) }) { process.kill() }
            } catch {
                exited(worker, .notStarted(error.description), [])
            }
        }
    }

    private func observer(of worker: Dispatcher.WorkerID) -> WorkerProcess.Observer {
        WorkerProcess.Observer(
            message: { [self] in receive($0, from: worker) },
            violated: { [self] problem in violated(worker, problem) },
            logged: { [self] lines in
                for line in lines { logger.notice("worker \(name) stderr: \(line)", metadata: streamMetadata) }
            },
            exited: { [self] exit, lines in exited(worker, exit, lines) })
    }

    func violated(_ worker: Dispatcher.WorkerID, _ problem: WorkerProtocolProblem) {
        let fault = WorkerFault("broke the protocol: \(problem)")
        logger.error("worker \(name): \(fault.clause)", metadata: metadata)
        core.withLock { $0.faults[worker] = fault }
        introduced(worker, .failed(fault.clause))
        handle(.violated(worker))
    }

    private func exited(_ worker: Dispatcher.WorkerID, _ exit: WorkerExit, _ lines: [String]) {
        let fault = core.withLock { $0.faults.removeValue(forKey: worker) }
        let introduction = takeIntroduction(of: worker)
        change { core in
            if fault != nil || core.dispatcher.wants(worker) || core.lastExit == nil {
                core.lastExit = fault?.clause ?? exit.clause
            }
            core.exits[worker] = ExitedProcess(
                exit: exit, fault: fault, pid: core.processes[worker]?.pid ?? 0, lines: lines)
            core.processes[worker] = nil
            core.questions.ended(worker)
            return .exited(worker)
        }
        core.withLock { $0.exits[worker] = nil }
        // A caller that waits for the introduction receives the failure only after the rest has begun.
        introduction?.open(with: .failed(fault?.clause ?? exit.clause))
        roomObserver.withLock(\.self)?()
    }

    private func receive(_ message: WorkerMessage, from worker: Dispatcher.WorkerID) {
        switch message {
        case .kinds(let announcement): announced(announcement, by: worker)
        case .refused(let refusals): refused(refusals, by: worker)
        case .started(let leases):
            let begun = leases.compactMap { attempt($0, in: worker)?.onBegin }
            handle(.began(worker, leases))
            for onBegin in begun { onBegin() }
        case .progress(let lease, let progress): attempt(lease, in: worker)?.onProgress(progress)
        case .checkpoint(let lease, let id, let value): save(value, id, of: lease, in: worker)
        case .connections(let lease, let connections): attempt(lease, in: worker)?.onConnections(connections)
        case .succeeded(let lease, let output, let children):
            ended(lease, in: worker, .succeeded(output, children: children))
        case .failed(let lease, let failure): ended(lease, in: worker, .failed(failure))
        case .checked(let id, let refusals): core.withLock { $0.questions.answer(id, .checked(refusals)) }
        case .cleanedUp(let id, let isAnythingLeft):
            core.withLock { $0.questions.answer(id, .cleanedUp(isAnythingLeft)) }
        case .jobState(let id, let kind, let job): answerJobState(id, kind, job, to: worker)
        case .pong(let id): handle(.pong(worker, id: id))
        }
    }

    func attempt(_ lease: Lease, in worker: Dispatcher.WorkerID) -> HostedAttempt? {
        core.withLock { $0.dispatcher.worker(of: lease) == worker ? $0.attempts[lease] : nil }
    }

    private func ended(_ lease: Lease, in worker: Dispatcher.WorkerID, _ end: HostedEnd) {
        var attempt: HostedAttempt?
        var isForeign = false
        change { core in
            isForeign = core.dispatcher.worker(of: lease) != worker
            if isForeign { return nil }
            attempt = core.takeAttempt(lease)
            return .ended(worker, lease)
        }
        if isForeign { return violated(worker, .foreign(lease, "the end")) }
        attempt?.onEnd(end)
    }
}

/// How a process ended.
struct ExitedProcess {
    var exit: WorkerExit
    /// The fault for which the daemon killed it; nil if it ended by itself.
    var fault: WorkerFault?
    var pid: Int32
    var lines: [String]
}

extension WorkerHost.Core {
    fileprivate mutating func perform(_ action: Dispatcher.Action, _ work: inout WorkerHost.Work) {
        switch action {
        case .launch(let worker, _):
            if nextIntroduction.isOpen { nextIntroduction = Latch() }
            introductions[worker] = nextIntroduction
            work.launches.append(worker)
        case .send(let lease, let worker):
            guard let attempt = attempts[lease], let process = processes[worker] else { return }
            for dependency in attempt.dependencies {
                guard let output = dependency.output else { continue }
                process.enqueue(
                    .output(DependencyMessage(lease: lease, kind: dependency.kind, output: output)))
            }
            process.enqueue(.run(Run(attempt)))
            unsent.insert(worker)
        case .ping(let worker, let id): send(.ping(id: id), to: worker)
        case .examine(let worker):
            if let process = processes[worker] { work.examinations.append((worker, process)) }
        case .drain(let worker): send(.drain, to: worker)
        case .kill(let worker, let reason):
            if faults[worker] == nil { faults[worker] = reason.fault }
            work.kills.append((processes[worker], reason))
        case .end(let lease, let fate):
            guard let attempt = takeAttempt(lease) else { return }
            work.ends.append((attempt, end(fate)))
        case .rest(let duration): work.rest = duration
        }
    }

    private mutating func send(_ message: DaemonMessage, to worker: Dispatcher.WorkerID) {
        processes[worker]?.enqueue(message)
        unsent.insert(worker)
    }

    private func end(_ fate: Dispatcher.Fate) -> HostedEnd {
        guard case .crashed(let others, let worker) = fate else { return .notRun }
        let exited = exits[worker] ?? ExitedProcess(exit: .unknown, fault: nil, pid: 0, lines: [])
        return .crashed(
            Crash(
                of: program.name, exited.exit, fault: exited.fault, pid: exited.pid, others: others, lines: exited.lines
            ))
    }
}
