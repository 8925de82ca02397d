import ControlProtocol
import Dispatch
import Jobs
import Logging
import Processes
import ProgramKind
import Synchronization
import WorkerProtocol
import Workers

/// The worker programs of a daemon, the programs of definitions, and the kinds that they run.
///
/// The built-in program is the first. A program that cannot run now starts again by itself after a growing wait; until
/// then the jobs of its kinds wait.
final class WorkerSet: Sendable {
    /// How a program answered the daemon's introduction.
    enum Answer {
        case kinds(Announcement)
        case refused([SettingRefusal])
        /// A clause that follows the name of the program.
        case unusable(String)

        var announcement: Announcement? {
            if case .kinds(let announcement) = self { return announcement }
            return nil
        }
    }

    private struct Member {
        let host: WorkerHost
        var program: WorkerProgram
        /// The answer at the start or at the last reload.
        var answer: Answer
        var name: String { program.name }
        var isBuiltIn: Bool { name == DaemonConfiguration.Worker.builtInName }

        var assignable: KindAssignment.Program {
            KindAssignment.Program(name: name, host: host, kinds: host.announcement?.kinds.map(\.description))
        }
    }

    private struct State {
        var members: [Member] = []
        /// Hosts that left the configuration and whose attempts may still run.
        var retired: [WorkerHost] = []
        /// The kinds that this daemon registered at an earlier start.
        var known: [KindDescription] = []
        var registry: KindRegistry?
        var clashes: [String: String] = [:]
        var restObservers: [@Sendable () -> Void] = []
    }

    /// Wakes when ``registry`` has changed.
    let changes = Wakeups()
    /// The programs that reloads wait for.
    let checks = PendingChecks()
    /// Runs the kind `program`.
    let programs: ProgramHost
    /// The kinds that no worker program runs.
    private let own: [RunnableKind]
    private let logger: Logger
    private let groups: CgroupRoot?
    private let state = Mutex(State())

    /// Starts all programs and asks for their kinds.
    init(_ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings) async {
        programs = ProgramHost(configuration.programs, groups: surroundings.groups, logger: surroundings.logger)
        own =
            surroundings.kinds.map { RunnableKind($0) }
            + [RunnableKind(ProgramHost.description, hostedBy: programs)]
        logger = surroundings.logger
        groups = surroundings.groups
        let members = configuration.workerPrograms(in: surroundings).map { member($0) }
        state.withLock { $0.members = members }
        let answers = await Self.all(members.map(\.host)) { host -> Answer in
            do throws(WorkerProblem) { return .kinds(try await host.introduce()) } catch { return Answer(error) }
        }
        state.withLock { state in
            for (index, answer) in answers.enumerated() { state.members[index].answer = answer }
        }
    }

    private func member(_ program: WorkerProgram) -> Member {
        let host = WorkerHost(program, version: Version.current, groups: groups, logger: logger)
        host.observeAnnouncements { [weak self, weak host] announcement in
            if let host { self?.announced(announcement, by: host) }
        }
        host.observeRests { [weak self] in
            for observer in self?.state.withLock(\.restObservers) ?? [] { observer() }
        }
        return Member(host: host, program: program, answer: .unusable("is starting"))
    }

    // MARK: Kinds

    /// The kinds of the programs and of this process.
    ///
    /// - Parameter known: The kinds that this daemon registered at an earlier start; nil to keep those of the last
    ///   call.
    /// - Throws: ``KindRegistryProblem``.
    @discardableResult
    func assign(known: [KindDescription]? = nil) throws(KindRegistryProblem) -> KindRegistry {
        try state.withLock { (state) throws(KindRegistryProblem) in
            state.known = known ?? state.known
            let assignment = try KindAssignment(
                own: own, programs: state.members.map(\.assignable), known: state.known
            ) { kind in AbsentWorkers { [weak self] in self?.problems(ofAbsent: kind) ?? [] } }
            state.registry = assignment.registry
            state.clashes = assignment.clashes
            return assignment.registry
        }
    }

    /// The kinds as they were assigned last.
    var registry: KindRegistry? { state.withLock(\.registry) }

    /// Assigns the kinds again after a process announced other kinds than its predecessor, or is the first to run.
    private func announced(_ announcement: Announcement, by host: WorkerHost) {
        // The caller of the initializer assigns the kinds during the start.
        guard registry != nil else { return }
        do throws(KindRegistryProblem) {
            let before = state.withLock { ($0.registry?.descriptions, $0.clashes) }
            try assign()
            let after = state.withLock { ($0.registry?.descriptions, $0.clashes) }
            let name = host.snapshot.program.name
            changes.wake()
            // The first answer of a program arrives here too.
            if before == after { return }
            if let clash = after.1[name] {
                logger.error("worker \(name) \(clash)", metadata: ["HALYARD_WORKER": "\(name)"])
            } else {
                let kinds = announcement.kinds.map(\.description.name).joined(separator: ", ")
                logger.notice("worker \(name): runs the kinds \(kinds)", metadata: ["HALYARD_WORKER": "\(name)"])
            }
        } catch {
            logger.error("the workers' kinds remain unchanged: \(error)")
        }
    }

    // MARK: Findings

    /// The reasons why a worker's configuration cannot be used. Call it after ``assign(known:)``.
    func refusals(of configuration: DaemonConfiguration) -> [WorkerRefusal] {
        let (members, clashes) = state.withLock { ($0.members, $0.clashes) }
        return Self.refusals(members.map { ($0.name, $0.answer) }, clashes, of: configuration)
    }

    private static func refusals(
        _ answers: [(name: String, answer: Answer)], _ clashes: [String: String], of configuration: DaemonConfiguration
    ) -> [WorkerRefusal] {
        answers.flatMap { name, answer -> [WorkerRefusal] in
            if let clash = clashes[name] {
                return [WorkerRefusal(sentence: configuration.sentence(about: name, clash))]
            }
            guard case .refused(let refusals) = answer else { return [] }
            return refusals.map {
                WorkerRefusal(sentence: configuration.sentence($0, by: name), errorNumber: $0.errorNumber)
            }
        }
    }

    /// The reason why the built-in worker cannot run now, which follows its name; nil if it can.
    var builtInFault: String? {
        state.withLock { state in
            guard case .unusable(let reason)? = state.members.first?.answer else { return nil }
            return reason
        }
    }

    /// The workers of the administrator that cannot run now, each as a sentence with its place.
    func faults(of configuration: DaemonConfiguration) -> [String] {
        state.withLock(\.members).dropFirst().compactMap { member in
            guard case .unusable(let reason) = member.answer else { return nil }
            return configuration.sentence(about: member.name, "\(reason); correct its command or the program")
        }
    }

    /// Findings about settings that do not prevent a start.
    var warnings: [String] {
        state.withLock(\.members).flatMap { member in
            (member.answer.announcement?.warnings ?? []).map { member.isBuiltIn ? $0 : "worker \(member.name): \($0)" }
        }
    }

    /// The reasons why the programs do not run, or may not run their kinds, as sentences.
    var problems: [String] {
        let (members, clashes) = state.withLock { ($0.members, $0.clashes) }
        return members.compactMap { member in
            clashes[member.name].map { "worker \(member.name) \($0); its jobs wait" } ?? member.host.problem
        }
    }

    /// The problems of the programs that could have a kind which no program runs: those that announced it but may not run
    /// it, and those whose kinds are not known because they have not run since the start.
    private func problems(ofAbsent kind: String) -> [String] {
        let (members, clashes) = state.withLock { ($0.members, $0.clashes) }
        return members.compactMap { member in
            guard let announcement = member.host.announcement else { return member.host.problem }
            guard let clash = clashes[member.name],
                announcement.kinds.contains(where: { $0.description.name == kind })
            else { return nil }
            return "worker \(member.name) \(clash); its jobs wait"
        }
    }

    /// The reasons why programs will probably not run soon, each as a clause with the program's name. These programs have
    /// rested several times in a row, or may not run their kinds.
    var lastingFaults: [String] {
        snapshots.compactMap { worker, problem in
            guard problem != nil else { return nil }
            let clash = state.withLock { $0.clashes[worker.program.name] }
            if clash == nil, worker.rests < Self.patience { return nil }
            return "worker \(worker.program.name) \(clash ?? worker.fault ?? "keeps exiting")"
        }
    }

    /// The number of rests in a row after which a program counts as one that will not run soon.
    private static let patience = 3

    /// Calls `body` whenever a program begins to rest.
    func observeRests(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.restObservers.append(body) } }

    /// The programs and their processes, with the problem of each.
    var snapshots: [(worker: WorkerSnapshot, problem: String?)] {
        let (members, clashes) = state.withLock { ($0.members, $0.clashes) }
        return members.map { member in
            let snapshot = member.host.snapshot
            return (snapshot, clashes[member.name].map { "worker \(member.name) \($0)" } ?? snapshot.problem)
        }
    }

    /// The programs that left the configuration, while processes of them finish their attempts.
    var removed: [WorkerSnapshot] {
        state.withLock(\.retired).map(\.snapshot).filter { !$0.processes.isEmpty }
    }

    // MARK: Reloading

    /// The programs of a new configuration, and how each answered.
    struct Plan {
        /// The running processes of a program are kept if it cannot run now.
        fileprivate var entries: [(program: WorkerProgram, answer: Answer, isKept: Bool)]
        fileprivate var programs: ProgramSettings
        /// The unchanged programs that cannot run now, each as a sentence with its place. They keep the kinds that they
        /// announced before.
        var faults: [String]
    }

    /// Starts a separate process of each program of a new configuration, and checks the answers together.
    ///
    /// - Throws: ``ConfigurationProblem`` if a worker refuses its settings, if two announce the same kind, or if a new or
    ///   changed worker cannot run. An unchanged one that cannot run now is not judged.
    func check(
        _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings
    ) async throws(ConfigurationProblem) -> Plan {
        let programs = configuration.workerPrograms(in: surroundings)
        let answers = await Self.all(programs) { [logger, groups, checks] program -> Answer in
            let check = checks.begin(program, now: wallClock())
            do throws(WorkerProblem) {
                return .kinds(
                    try await WorkerHost.check(
                        program, version: Version.current, groups: groups, logger: logger
                    ) { checks.end(check) })
            } catch {
                return Answer(error)
            }
        }
        let current = state.withLock(\.members)
        var entries = zip(programs, answers).map { (program: $0, answer: $1, isKept: false) }
        var (problems, faults) = ([String](), [String]())
        for (index, entry) in entries.enumerated() {
            guard case .unusable(let reason) = entry.answer else { continue }
            let member = current.first { $0.name == entry.program.name }
            if index == 0 || member?.program == entry.program {
                // The program keeps the kinds that it announced before.
                entries[index].answer = member?.answer ?? entry.answer
                faults.append(
                    (index == 0
                        ? "\(entry.program.name) \(reason)"
                        : configuration.sentence(about: entry.program.name, reason))
                        + "; its running processes are kept, and without one the jobs of its kinds wait until it can run"
                )
                entries[index].isKept = true
            } else {
                problems.append(
                    configuration.sentence(
                        about: entry.program.name, "\(reason); correct its command or the program"))
            }
        }
        do throws(KindRegistryProblem) {
            let absent = AbsentWorkers { [] }
            let assignment = try KindAssignment(
                own: own,
                programs: entries.map { entry in
                    KindAssignment.Program(
                        name: entry.program.name, host: absent,
                        kinds: entry.answer.announcement?.kinds.map(\.description))
                }, known: []
            ) { _ in absent }
            problems += Self.refusals(
                entries.map { ($0.program.name, $0.answer) }, assignment.clashes, of: configuration
            ).map(\.sentence)
        } catch {
            problems.append("\(error)")
        }
        guard problems.isEmpty else { throw ConfigurationProblem(problems) }
        for (program, answer, _) in entries {
            for warning in answer.announcement?.warnings ?? [] {
                logger.warning(
                    "\(program.name == DaemonConfiguration.Worker.builtInName ? "" : "worker \(program.name): ")\(warning)"
                )
            }
        }
        return Plan(entries: entries, programs: configuration.programs, faults: faults)
    }

    /// Uses the programs of a new configuration for all attempts that begin later. Attempts that run keep their processes.
    ///
    /// The administrator's workers get new processes, since the files of the programs may have changed; those that cannot
    /// run now keep theirs.
    func use(_ plan: Plan) {
        programs.use(plan.programs)
        let old = state.withLock(\.members)
        var members: [Member] = []
        for (program, answer, isKept) in plan.entries {
            guard var member = old.first(where: { $0.name == program.name }) else {
                var added = member(program)
                added.answer = answer
                added.host.use(program, announced: answer.announcement)
                members.append(added)
                continue
            }
            member.program = program
            member.answer = answer
            member.host.use(program, announced: answer.announcement, always: !member.isBuiltIn && !isKept)
            members.append(member)
        }
        let removed = old.filter { old in !members.contains { $0.host === old.host } }.map(\.host)
        state.withLock { state in
            state.members = members
            state.retired = state.retired.filter { !$0.hasClosed } + removed
        }
        do throws(KindRegistryProblem) {
            try assign()
        } catch {
            // The plan was checked, so only a kind that the store knows can cause this.
            logger.error("the workers' kinds remain unchanged: \(error)")
        }
        changes.wake()
    }

    /// Lets the programs that left the configuration end. Call it after the runner no longer uses them.
    func retire() {
        for host in state.withLock(\.retired) { host.retire() }
    }

    /// Ends all processes of the programs.
    func close() async {
        let hosts = state.withLock { $0.members.map(\.host) + $0.retired }
        async let programs: Void = programs.close()
        _ = await Self.all(hosts) { await $0.close() }
        await programs
    }

    /// Prepares the folder of programs, once the database's lock is held.
    ///
    /// - Throws: ``DaemonFailure`` if the folder cannot be used.
    func prepare(_ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings) async throws(DaemonFailure)
    {
        let failure = await withCheckedContinuation { continuation in
            // Removing what an earlier daemon left can take long, so it must not occupy a thread of Swift's pool.
            DispatchQueue.global().async { [programs] in
                do throws(FileFailure) {
                    // A test has other children with sessions of their own.
                    try programs.prepare(adoptsOrphans: surroundings.handlesSignals)
                    continuation.resume(returning: FileFailure?.none)
                } catch {
                    continuation.resume(returning: error)
                }
            }
        }
        if let failure {
            throw DaemonFailure(.configuration, "program.directory: \(failure).", errno: failure.code)
        }
    }

    // MARK: Together

    /// Calls `body` for all elements at the same time, and returns the results in their order.
    private static func all<Element: Sendable, Value: Sendable>(
        _ elements: [Element], _ body: @escaping @Sendable (Element) async -> Value
    ) async -> [Value] {
        await withTaskGroup(of: (Int, Value).self) { group in
            for (index, element) in elements.enumerated() { group.addTask { (index, await body(element)) } }
            var results: [Int: Value] = [:]
            for await (index, value) in group { results[index] = value }
            return elements.indices.compactMap { results[$0] }
        }
    }
}
