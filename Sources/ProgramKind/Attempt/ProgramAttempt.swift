import CLinux
import Glibc
import JobFiles
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
    private let place: Place
    private let state = Mutex(State())

    private struct State {
        /// The process while it runs. Later, its number may belong to another process.
        var launched: LaunchedProcess?
        var end: ProcessEnd?
        var wasStopped = false
        var wasAbandoned = false
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
    func abandon() {
        state.withLock { state in
            (state.wasStopped, state.wasAbandoned) = (true, true)
            state.launched?.kill()
        }
    }

    // MARK: The thread

    /// Runs the attempt to its end, which it reports once.
    func run() {
        guard !state.withLock(\.wasStopped) else { return attempt.onEnd(.notRun) }
        var folder: WorkFolder?
        let end: HostedEnd
        do throws(TryFailure) {
            end = .succeeded(try perform(&folder), children: [])
        } catch {
            end = .failed(error)
        }
        attempt.onEnd(end)
        do throws(FileFailure) {
            try folder?.remove()
        } catch {
            place.warn("the work folder remains until the next start: \(error)")
        }
    }

    private func perform(_ folder: inout WorkFolder?) throws(TryFailure) -> JSONText {
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
        try linkSpooled(&input, to: work)
        let files = try linkFiles(to: work)
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
        attempt.onUsage(AttemptUsage(end))
        let ending = AttemptEnding(
            program: program, end: end, output: server.output, isTooLarge: server.isTooLarge,
            isFileFull: program.result == .file && work.outputBytes >= program.limits.fileBytes,
            wasStopped: state.withLock(\.wasStopped), lines: server.tail.lines)
        if let failure = ending.failure { throw failure }
        return program.result == .file ? try keep(work, program, ending) : try ending.value()
    }

    private static func badInput(_ problem: String) -> TryFailure {
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

    /// The input with the outputs and the linked files of the dependencies.
    private func withDependencies(_ input: JSONObject, _ files: [String?]) -> JSONObject {
        if attempt.dependencies.isEmpty { return input }
        var input = input
        input["dependencies"] = JSONWriter.text {
            $0.array(zip(attempt.dependencies, files)) { entry, writer in
                let (dependency, file) = entry
                writer.object { object in
                    object.field("job", dependency.dependency.rawValue)
                    if let node = dependency.node { object.field("node", node) }
                    object.field("kind", dependency.kind)
                    object.field("output", dependency.output ?? .null)
                    if let file { object.field("file", file) }
                }
            }
        }
        return input
    }

    /// Gives the program the files that the caller sent, under their own names, and replaces their internal names in the
    /// input by paths.
    private func linkSpooled(_ input: inout JSONObject, to work: WorkFolder) throws(TryFailure) {
        guard let spool = place.spool else { return }
        var names: Set<String> = []
        for field in input.fields {
            guard let file = field.value.decodedString.flatMap(SpooledFile.init) else { continue }
            var name = file.ownName ?? "file"
            var number = 1
            while !names.insert(name).inserted {
                number += 1
                name = "\(number)-\((file.ownName ?? "file").prefix(200))"
            }
            do throws(FileFailure) {
                let path = try work.link("\(spool)/\(file.id)", as: name, in: "files")
                input[field.name] = JSONText(string: path)
            } catch {
                guard error.code == ENOENT else { throw ProgramFailure.notStarted(error) }
                throw Self.badInput(
                    "the spool no longer has the file of the field \"\(field.name)\"; enqueue the job again with the file"
                )
            }
        }
    }

    /// Links the kept files of the dependencies, whose outputs are not trusted to name them.
    ///
    /// - Returns: The path of the link in the work folder for each dependency; nil for those without a file.
    private func linkFiles(to work: WorkFolder) throws(TryFailure) -> [String?] {
        var names: Set<String> = []
        var files: [String?] = []
        for (index, dependency) in attempt.dependencies.enumerated() {
            // Dependencies of several graphs may have the same name.
            let node = dependency.node.flatMap { names.insert($0).inserted ? $0 : nil }
            let lease = Lease(job: dependency.dependency, attempt: dependency.attempt)
            do {
                let file = dependency.output == nil ? nil : try place.files?.file(of: lease)
                let name = node ?? "\(index + 1)"
                if let file { try work.link(file.path, as: name, in: "dependencies") }
                files.append(file.map { _ in "dependencies/\(name)" })
            } catch {
                throw ProgramFailure.notStarted("\(error)")
            }
        }
        return files
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

    private func keep(
        _ work: WorkFolder, _ program: ProgramDefinition, _ ending: AttemptEnding
    ) throws(TryFailure) -> JSONText {
        guard access(work.output, F_OK) == 0 else {
            throw ProgramFailure.make(
                ProgramFailure.Code.noOutput,
                "the program succeeded but did not write its result to {output}; let it write a regular file there.")
        }
        try checkNotAbandoned()
        guard let files = place.files else {
            throw ProgramFailure.make(ProgramFailure.Code.notKept, "this daemon keeps no files; use another result.")
        }
        let kept: JSONText
        do {
            kept = try files.keep(work.output, of: attempt.lease, name: "output").json
        } catch {
            // Any other error is the program's: it wrote something else than a regular file of its own.
            var isRetryable = false
            if case .failed? = error as? JobFilesError { isRetryable = true }
            throw ProgramFailure.make(
                ProgramFailure.Code.notKept, "the result file was not kept: \(error).", isRetryable: isRetryable)
        }
        // Reading a large file takes long. If the attempt is abandoned later, the job's end removes the file.
        do throws(TryFailure) {
            try checkNotAbandoned()
        } catch {
            discard(files)
            throw error
        }
        return kept
    }

    private func discard(_ files: any ProgramFiles) {
        do {
            try files.discard(attempt.lease)
        } catch {
            place.warn("the file of an abandoned attempt remains until the next start: \(error)")
        }
    }

    /// The runner no longer waits for an abandoned attempt, so nothing would refer to its file.
    private func checkNotAbandoned() throws(TryFailure) {
        guard state.withLock(\.wasAbandoned) else { return }
        throw ProgramFailure.make(
            ProgramFailure.Code.stopped, "the program ended, and was asked to stop before its result was recorded.")
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
