import CLinux
import Glibc
import Jobs
import OperationTypes
import Processes
import Synchronization

/// One attempt of a program, from the checks to the removal of its work folder. Everything happens on one thread of its
/// own, which outlives the process, so that the kernel kills the program together with the daemon.
final class ProgramAttempt: Sendable {
    /// The surroundings that all attempts share.
    struct Place: Sendable {
        var roots: [String]
        /// The folder of the work folders.
        var folder: String
        /// The folder of the files that callers sent; nil if there is none.
        var spool: String?
        var files: (any ProgramFiles)?
        var groups: CgroupRoot?
        /// Receives problems that do not end the attempt, such as a log that cannot be written.
        var warn: @Sendable (String) -> Void
    }

    let attempt: HostedAttempt
    let place: Place
    private let state = Mutex(State())

    private struct State {
        /// The process while it runs. Later, its number may belong to another process.
        var launched: LaunchedProcess?
        var end: ProcessEnd?
        var wasStopped = false
        var wasAbandoned = false
        /// The time that the process had to end after SIGTERM; nil if it was not killed for exceeding it.
        var ignoredFor: Duration?
    }

    init(_ attempt: HostedAttempt, in place: Place) {
        self.attempt = attempt
        self.place = place
    }

    // MARK: Requests, from any thread

    /// Asks the program to end.
    func stop() {
        // The request is made under the lock, so that the end cannot be reported in between.
        state.withLock { state in
            state.wasStopped = true
            state.launched?.askToEnd()
        }
    }

    /// Kills the program with all its descendants.
    ///
    /// - Parameter grace: The time that the program had to end after SIGTERM; nil if it had none.
    func abandon(after grace: Duration? = nil) {
        state.withLock { state in
            if state.launched != nil, state.wasStopped, !state.wasAbandoned { state.ignoredFor = grace }
            (state.wasStopped, state.wasAbandoned) = (true, true)
            state.launched?.kill()
        }
    }

    // MARK: The thread

    /// Runs the attempt to its end, which it reports once.
    func run() {
        guard !state.withLock(\.wasStopped) else { return attempt.onEnd(.notRun) }
        var folder: WorkFolder?
        var lent: [LentDependency] = []
        var end: HostedEnd
        do throws(TryFailure) {
            end = .succeeded(try perform(&folder, &lent), children: [])
        } catch {
            end = .failed(error)
        }
        // All processes of the program have ended.
        if let failure = takeBack(lent) {
            if case .succeeded = end, attempt.program?.result == .file { discard() }
            end = .failed(failure)
        }
        attempt.onEnd(end)
        do throws(FileFailure) {
            try folder?.remove()
        } catch {
            place.warn("the work folder remains until the next start: \(error)")
        }
    }

    private func perform(
        _ folder: inout WorkFolder?, _ lent: inout [LentDependency]
    ) throws(TryFailure) -> JSONText {
        guard let program = attempt.program else {
            throw .permanent(JobFailure.Code.badDefinition, "the definition names no program; apply it again.")
        }
        let work: WorkFolder
        let pipes: ProgramPipes
        var input = try input(for: program)
        let executable: CheckedExecutable
        do throws(ExecutableProblem) {
            executable = try CheckedExecutable(program.executable, roots: place.roots)
        } catch {
            throw ProgramFailure.refused(error)
        }
        do throws(FileFailure) {
            work = try WorkFolder(of: attempt.lease, in: place.folder)
            folder = work
        } catch {
            throw ProgramFailure.notStarted(error)
        }
        try copySpooled(&input, to: work)
        let files = try lendFiles(to: work, &lent)
        do throws(FileFailure) {
            pipes = try ProgramPipes(
                input: program.standardInput == .json ? withDependencies(input, files).text.bytes : nil,
                outputIsResult: program.result.isOutput)
        } catch {
            throw ProgramFailure.notStarted(error)
        }
        var plan: LaunchPlan
        do throws(ProgramInputProblem) {
            let arguments = try program.arguments(for: input, output: work.output)
            plan = self.plan(program, executable.descriptor, arguments, work)
        } catch {
            throw Self.badInput("\(error)")
        }
        let socket = NotifySocket(at: work.socket)
        plan.environment["NOTIFY_SOCKET"] = socket?.path
        plan.descriptors = pipes.passed
        let log = beginLog(program)
        defer { log?.finish() }
        let server = ProgramServer(program, pipes, socket, log, onProgress: attempt.onProgress)
        let end = try launch(plan, pipes, server)
        withExtendedLifetime(executable) {}
        // The program may have ended by itself just before the kill.
        if let grace = state.withLock(\.ignoredFor), case .signalled(SIGKILL, _) = end.status {
            server.note("the program did not end within \(grace.human) of SIGTERM and was killed")
        }
        attempt.onUsage(AttemptUsage(end))
        let ending = AttemptEnding(
            program: program, end: end, output: server.output, isTooLarge: server.isTooLarge,
            isFileFull: program.result == .file && work.outputBytes >= program.limits.fileBytes,
            wasStopped: state.withLock(\.wasStopped), lines: server.tail.lines)
        if let failure = ending.failure { throw failure }
        return program.result == .file ? try keep(work, program, ending) : try ending.value()
    }

    static func badInput(_ problem: String) -> TryFailure {
        .permanent(JobFailure.Code.invalidInput, "the input is not valid for the program: \(problem).")
    }

    private func input(for program: ProgramDefinition) throws(TryFailure) -> JSONObject {
        do throws(ProgramInputProblem) {
            let input = try program.completed(attempt.input)
            if let name = program.missingField(of: input) {
                throw ProgramInputProblem(description: "the field \"\(name)\" is missing; add it")
            }
            return input
        } catch {
            throw Self.badInput("\(error)")
        }
    }

    private func plan(
        _ program: ProgramDefinition, _ executable: Int32, _ arguments: [String], _ work: WorkFolder
    ) -> LaunchPlan {
        let limits = program.limits
        var plan = LaunchPlan(.descriptor(executable, name: program.executable), arguments, folder: work.path)
        plan.environment = [
            "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": work.path, "TMPDIR": work.path,
        ].merging(program.environment) { $1 }
        plan.environment["HALYARD_PROGRAM"] = program.executable
        plan.environment["HALYARD_JOB"] = "\(attempt.lease.job)"
        plan.environment["HALYARD_ATTEMPT"] = "\(attempt.lease.attempt)"
        plan.endsWithThread = true
        plan.limits = ProcessLimits(fileSize: UInt64(limits.fileBytes))
        let processes = limits.processes ?? ProgramLimits.defaultProcesses
        let memory = limits.memory.map { UInt64($0) }
        do throws(CgroupProblem) {
            plan.group = try place.groups?.makeGroup(
                limits: CgroupLimits(memory: memory, processors: limits.processors, processes: UInt64(processes)))
        } catch {
            place.warn("the program runs without a cgroup: \(error)")
        }
        let controllers = plan.group == nil ? [] : place.groups?.controllers ?? []
        if !controllers.contains(.memory) { plan.limits.addressSpace = memory }
        // The limit counts all processes of the user, so those that run already are added. Processes that start later
        // use it up, so it has no default.
        if !controllers.contains(.pids), let processes = limits.processes {
            plan.limits.processes = UInt64(processes) + UserThreads.count()
        }
        return plan
    }

    private func beginLog(_ program: ProgramDefinition) -> (any ProgramLog)? {
        do {
            return try place.files?.beginLog(
                of: attempt.lease, limit: Int(program.limits.log ?? ProgramLimits.defaultLog))
        } catch {
            place.warn("the attempt runs without a log: \(error)")
            return nil
        }
    }

    /// The runner no longer waits for an abandoned attempt, so nothing would refer to its file.
    func checkNotAbandoned() throws(TryFailure) {
        guard state.withLock(\.wasAbandoned) else { return }
        throw ProgramFailure.make(
            ProgramFailure.Code.stopped, "the program ended, but it was asked to stop before its result was recorded.")
    }

    // MARK: The process

    /// Launches the program and serves it until it has ended.
    private func launch(
        _ plan: LaunchPlan, _ pipes: ProgramPipes, _ server: ProgramServer
    ) throws(TryFailure) -> ProcessEnd {
        let wake = pipes.wake
        let launched: LaunchedProcess
        do throws(LaunchError) {
            launched = try plan.launch { [self] (end: ProcessEnd) in
                // The lock matters: once the thread sees the end, it closes the descriptor, and another file may get its number.
                state.withLock { state in
                    state.end = end
                    state.launched = nil
                    eventfd_write(wake, 1)
                }
            }
        } catch {
            throw ProgramFailure.notLaunched(error)
        }
        pipes.closePassed()
        attempt.onBegin()
        state.withLock { state in
            // The end may have been reported before the launch returned.
            guard state.end == nil else { return }
            state.launched = launched
            if state.wasAbandoned { launched.kill() } else if state.wasStopped { launched.askToEnd() }
        }
        return server.serve(
            until: { [self] in state.withLock(\.end) },
            kill: { [self] in
                state.withLock { state in
                    guard let launched = state.launched else { return }
                    launched.kill()
                }
            })
    }
}

extension AttemptUsage {
    /// The resources of all processes of the cgroup or, without one, of the program and the children that it waited for.
    fileprivate init(_ end: ProcessEnd) {
        let (own, group) = (end.usage, end.groupUsage)
        let processor = (group?.userTime ?? own.userTime) + (group?.systemTime ?? own.systemTime)
        self.init(
            processorTime: processor,
            peakMemory: (group?.peakMemory ?? Self.peak(of: own)).map { Int64(clamping: $0) },
            bytesRead: Int64(clamping: own.bytesRead), bytesWritten: Int64(clamping: own.bytesWritten))
    }

    /// The largest memory of one of the processes; nil if it is not known. The kernel also counts the memory that a process
    /// shared with this one before it executed its program.
    private static func peak(of usage: ResourceUsage) -> UInt64? {
        var own = rusage()
        getrusage(RUSAGE_SELF.rawValue, &own)
        return usage.maxResidentBytes > UInt64(max(0, own.ru_maxrss)) * 1024 ? usage.maxResidentBytes : nil
    }
}

extension LaunchedProcess {
    /// Asks all processes of the group to end. A stopped process must continue to handle the signal.
    fileprivate func askToEnd() {
        signal(SIGTERM)
        signal(SIGCONT)
    }
}

extension ProgramDefinition.ResultForm {
    /// Whether standard output is the result.
    fileprivate var isOutput: Bool { self == .text || self == .json || self == .lines }
}
