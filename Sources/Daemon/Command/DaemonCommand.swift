import ArgumentParser
import CCrashMark
import ControlProtocol
import FoundationEssentials
import Glibc
import Jobs
import Logging
import Processes
import Systemd

/// `halyardd`: reads its configuration, then runs jobs until a signal stops it.
public struct DaemonCommand: ParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "halyardd",
        abstract: "Runs durable jobs from an SQLite file or a PostgreSQL database.",
        discussion: """
            SIGTERM drains: no job starts, running jobs get drain_timeout to end, and jobs still running then are interrupted \
            and run again after the next start. A second SIGTERM interrupts them at once. SIGHUP reloads the configuration.

            EXIT CODES
                0  Stopped on request; every running job has ended or was returned to its queue.
               64  The command line is invalid.
               70  Halyard has a bug.
               73  The control socket cannot be created.
               74  Reading or writing failed, or a file or folder is missing; a restart may help.
               75  Not possible now: another process holds the database or the home, the database's server cannot be reached, \
            another daemon has the same daemon-id, or the disk is full.
               78  The configuration or the database must be corrected first; a restart does not help.
            """,
        version: Version.current)

    @Option(help: ArgumentHelp("The configuration file (default: \(StandardPaths.configuration)).", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("The database; overrides the configuration.", valueName: "file|url"))
    var database: String?

    @Option(help: ArgumentHelp("The control socket; overrides the configuration.", valueName: "path"))
    var socket: String?

    @Option(
        name: .customLong("set"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Set a configuration key; write a list as a,b.", valueName: "key=value"))
    var settings: [String] = []

    @Flag(help: "Check the configuration and the initial definitions, print every problem, and exit.")
    var checkConfig = false

    @Flag(
        help: """
            Run jobs that are ready or become ready, without a control socket; exit when no job is running or due and \
            every accepted graph is written. Jobs scheduled for later, jobs of paused queues and graphs that cannot be \
            written now (the log says why) stay for the next start. If all other jobs wait for a worker that cannot \
            run, the exit code is 74.
            """)
    var once = false

    /// Creates a command without arguments; the parser fills it.
    public init() {}

    /// Checks that every `--set` has the form `KEY=VALUE`.
    public func validate() throws {
        for setting in settings where !setting.contains("=") {
            throw ValidationError("--set takes KEY=VALUE, not \"\(setting)\".")
        }
    }

    /// Parses the command line, runs the daemon and ends the process. Call it first, while the process has only one
    /// thread.
    ///
    /// - Parameter kinds: Your own kinds, in addition to the built-in ones. If two kinds have the same name, the
    ///   process ends with status 78.
    @MainActor public static func start(with kinds: [any Kind] = []) async -> Never {
        crash_mark_install()
        umask(0o027)
        // Otherwise libdispatch writes a log message for every thread whose priority it may not raise.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let sockets = Result { () throws(PassedSocketError) in try PassedSocket.takeAll() }
        let service = ServiceEnvironment.take()
        let destination = LogDestination(service)
        let threshold = LogThreshold(.info)
        let logger = Logger(label: "halyardd") { label in
            destination.handler(
                label: label, threshold: threshold, identifier: "halyardd", messageIDs: MessageID.byEvent)
        }
        var surroundings = DaemonSurroundings()
        surroundings.notifier = Notifier(service.notifySocket) { logger.warning("\($0)") }
        // Outside of a service, the cgroup contains processes that are not the daemon's.
        if surroundings.notifier.isHeard { surroundings.groups = delegatedGroups(logger) }
        surroundings.watchdogInterval = service.watchdogInterval
        surroundings.memoryPressure = service.memoryPressureWatch.map { ($0, service.memoryPressureSetting) }
        surroundings.handlesSignals = true
        surroundings.logThreshold = threshold
        surroundings.logger = logger
        surroundings.kinds = kinds
        if !surroundings.notifier.isHeard {
            // Without a service manager, nothing else ends a process that hangs.
            surroundings.onHang = { _exit($0.status.rawValue) }
        }
        let spare = SpareSocket(sockets)
        surroundings.onReady = { _ in spare.close() }
        do {
            try FileLimit.check()
            let command: DaemonCommand
            do {
                command = try parse()
            } catch {
                let error = mistypedOption(in: CommandLine.arguments.dropFirst()) ?? error
                throw Self.failure(of: error, isActivated: spare.isOpen)
            }
            surroundings.runsOnce = command.once
            surroundings.socket = try command.controlSocket(of: try sockets.get())
            try await command.run(in: surroundings, service)
            Glibc.exit(0)
        } catch {
            let failure = DaemonFailure(error)
            for line in failure.reason.split(separator: "\n") {
                logger.critical(
                    "\(line)", metadata: ["HALYARD_EVENT": "daemon-failed", "HALYARD_ERROR": "\(failure.reason)"])
            }
            surroundings.notifier.send(.status(failure.reason), .errno(failure.errno))
            if failure.needsRepair, let socket = spare.take() {
                await FailedStart(
                    failure: failure, socket: socket, unit: .own(), logger: logger
                ).refuseCallers()
            }
            Glibc.exit(failure.status.rawValue)
        }
    }

    private static func delegatedGroups(_ logger: Logger) -> CgroupRoot? {
        do throws(CgroupProblem) {
            return try CgroupRoot.delegated()
        } catch .notDelegated, .noHierarchy {
            return nil
        } catch {
            logger.notice("the processes of jobs have no cgroups: \(error)")
            return nil
        }
    }

    /// Ends the process with status 74 when it may open too few files to start. Call it before any asynchronous code,
    /// since libdispatch opens files itself; ``start(with:)`` checks again.
    public static func requireRoomForFiles() {
        do throws(DaemonFailure) {
            try FileLimit.check()
        } catch {
            let line = Array("halyardd: \(error.reason)\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            Glibc.exit(error.status.rawValue)
        }
    }

    /// Returns the failure for a wrong command line if callers may be waiting on the socket. Otherwise, and for
    /// flags such as --help, prints the message and ends the process.
    private static func failure(of error: any Error, isActivated: Bool) -> DaemonFailure {
        guard isActivated, !exitCode(for: error).isSuccess else { exit(withError: error) }
        return DaemonFailure(
            .usage, "The command line of halyardd is invalid: \(message(for: error)). Correct ExecStart= of its unit.",
            errno: EINVAL)
    }

    /// Returns an error for a long option with one dash. The parser would read `-check-config` as several
    /// one-letter options, one of them `-h`, and print help.
    private static func mistypedOption(in arguments: some Sequence<String>) -> (any Error)? {
        let words = arguments.prefix { $0 != "--" }
        guard let word = words.first(where: { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.utf8.count > 2 }),
            word != "-help"
        else { return nil }
        let names = ["config", "database", "socket", "set", "check-config", "once", "version"]
        let nearest = NearestName.nearest(to: String(word.dropFirst().prefix { $0 != "=" }), among: names)
        let meant = nearest.map { " Did you mean --\($0)?" } ?? ""
        return ValidationError("There is no option \(word).\(meant) See: halyardd --help")
    }

    private func run(in surroundings: DaemonSurroundings, _ service: ServiceEnvironment) async throws {
        let environment = ProcessInfo.processInfo.environment
        for problem in DaemonConfiguration.unknownVariables(in: environment) {
            surroundings.logger.warning("\(problem)")
        }
        let sources = ConfigurationSources(
            file: config, flags: try flags(), environment: environment, service: service)
        var surroundings = surroundings
        surroundings.sources = sources
        let (configuration, problems) = try DaemonConfiguration.read(sources)
        if checkConfig || !problems.isEmpty {
            let warnings = try await check(configuration, problems, in: surroundings)
            for warning in warnings { surroundings.logger.warning("\(warning)") }
            let count = warnings.count == 1 ? "1 warning" : "\(warnings.count) warnings"
            print(warnings.isEmpty ? "The configuration is valid." : "The configuration is valid, with \(count).")
            return
        }
        surroundings.logThreshold.level = configuration.logLevel
        try await Daemon.run(configuration, in: surroundings)
    }

    /// Checks the configuration without a start.
    ///
    /// - Parameter problems: The problems that were found when it was read.
    /// - Returns: Warnings.
    /// - Throws: ``ConfigurationProblem`` with all problems, also those of the workers.
    private func check(
        _ configuration: DaemonConfiguration, _ problems: [String], in surroundings: DaemonSurroundings
    ) async throws -> [String] {
        let workers = await WorkerSet(configuration, in: surroundings)
        do {
            if let reason = workers.builtInFault { throw DaemonFailure(ofWorker: reason) }
            let registry = try workers.assign()
            // A start only reports a worker that cannot run, but whoever checks the configuration wants to correct it.
            let refusals =
                workers.refusals(of: configuration) + workers.unknownKinds(in: configuration, registry)
                + workers.faults(of: configuration).map { WorkerRefusal(sentence: $0) }
            if !problems.isEmpty { throw ConfigurationProblem(problems + refusals.map(\.sentence)) }
            let warnings = try await configuration.check(
                for: .check, refusedByWorkers: refusals, firstDefinitions: refusals.isEmpty ? registry : nil)
            await workers.close()
            return warnings + workers.warnings
        } catch {
            await workers.close()
            // A check reports what it finds, so the caller must correct it even if a start would try again.
            throw (error as? ConfigurationProblem).map { ConfigurationProblem($0.problems) } ?? error
        }
    }

    private func flags() throws(DaemonFailure) -> [String: String] {
        var flags: [String: String] = [:]
        for setting in settings {
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            flags[String(parts[0])] = String(parts[1])
        }
        if let database { flags["database"] = try absoluteAddress(database) }
        if let socket { flags["socket"] = try absolute(socket) }
        return flags
    }

    /// Completes a relative path to a database. A URL, or a text that must be one, stays unchanged for the check of the
    /// configuration.
    private func absoluteAddress(_ text: String) throws(DaemonFailure) -> String {
        let path: String?
        do throws(DatabaseAddressProblem) {
            path = try DatabaseAddress(text).path
        } catch {
            path = nil
        }
        guard let path else { return text }
        return try absolute(path)
    }

    /// Completes a relative path from the command line with the current directory.
    private func absolute(_ path: String) throws(DaemonFailure) -> String {
        if path.hasPrefix("/") { return path }
        guard let folder = getcwd(nil, 0) else {
            throw DaemonFailure(
                .usage, "\(path) is relative to a folder that no longer exists; use an absolute path.", errno: ENOENT)
        }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    private func controlSocket(of sockets: [PassedSocket]) throws(DaemonFailure) -> PassedSocket? {
        guard sockets.count <= 1 else {
            throw DaemonFailure(
                .configuration,
                "\(sockets.count) sockets were passed; the socket's unit must have exactly one ListenStream=.",
                errno: EINVAL)
        }
        return sockets.first
    }
}
