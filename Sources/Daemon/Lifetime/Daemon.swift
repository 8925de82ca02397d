import API
import CalendarEvents
import ControlProtocol
import Glibc
import Jobs
import Logging
import Runner
import SQLiteStore
import ServiceLifecycle
import StoreControl
import Systemd

/// The whole daemon, from the lock on its database to the last recorded attempt.
public enum Daemon {
    /// Runs the daemon until it is stopped or fails. A signal or its handle stops it. Cancelling the task also
    /// stops it, and interrupts the running jobs at once.
    ///
    /// A start takes these steps in order: acquire the lock, open the control socket and the store, register
    /// kinds and definitions, rescue orphans, start the claim loop, answer callers, and report ready. When the
    /// function returns, every attempt has ended and is recorded, and the database is closed.
    ///
    /// - Throws: An error that ``DaemonFailure/init(_:)-swift.init`` converts to an exit status and a reason.
    ///   After a failure, the database is as after a crash: the next start recovers it.
    public static func run(
        _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings = DaemonSurroundings()
    ) async throws {
        let notifier = surroundings.notifier
        if surroundings.runsOnce {
            for warning in configuration.warnings { surroundings.logger.warning("\(warning)") }
        } else {
            configuration.logWarnings(to: surroundings.logger)
        }
        let kinds = KindSet(configuration.kinds)
        let registry = try KindRegistry(kinds.kinds + surroundings.kinds)
        configuration.tellOfTrackingList(surroundings.logger)
        // A database is created only if nothing else prevents the start.
        let isNew = access(configuration.database, F_OK) != 0
        try configuration.check(
            for: .start(opensSocket: !surroundings.runsOnce && surroundings.socket == nil),
            firstDefinitions: isNew ? registry.descriptions : nil)
        notifier.status("starting; opening \(configuration.database)")
        // Checking, migrating and recovering a large database may take longer than the unit's TimeoutStartSec=.
        // The service manager ends a start that also exceeds this extension.
        notifier.send(.extendTimeout(by: .seconds(600)))
        let lock = try await DatabaseLock.acquire(
            forDatabaseAt: configuration.database, as: surroundings.runsOnce ? .once : .daemon,
            waiting: surroundings.lockPatience
        ) { holder in
            let who = holder.pid.map { "process \($0)" } ?? "another process"
            notifier.status("starting; waiting for \(who), a command that is using \(configuration.database)")
            surroundings.logger.notice("waiting for \(who), which is using \(configuration.database)")
        }
        defer { lock.release() }
        let lastEnd = lock.lastEnd
        if surroundings.handlesSignals { lock.marksCrashes() }
        do throws(StoreOpenError) {
            try SQLiteJobStore.checkHeader(ofDatabaseAt: configuration.database)
            for change in DatabaseModes.narrow(configuration.database) { surroundings.logger.warning("\(change)") }
        } catch {
            // The file of another program keeps its mode, and nothing is made next to it.
            if error.isOfAnotherProgram { throw error }
            // Opening the database creates it, or says more.
        }
        try configuration.makeFolders()
        let ending = HangGuard(notifier: notifier, logger: surroundings.logger, onHang: surroundings.onHang)
        defer { ending.ended() }
        let door = surroundings.runsOnce ? nil : try Door(configuration, passed: surroundings.socket)
        let store: SQLiteJobStore
        do {
            notifier.status("starting; opening \(configuration.database)")
            store = try SQLiteJobStore.open(lock, options: surroundings.store)
            if !store.isWatchingFiles {
                surroundings.logger.warning(
                    "cannot watch the database's files, because the limit on inotify instances is reached; a removed database is noticed only at the next write. Raise fs.inotify.max_user_instances"
                )
            }
        } catch {
            door?.socket.close()
            throw error
        }
        do {
            try await run(configuration, in: surroundings, store, after: lastEnd, kinds, registry, door, ending)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        surroundings.logger.notice("stopped", metadata: ["HALYARD_EVENT": "daemon-stopped"])
        notifier.status("stopped")
    }

    /// The ways in which callers reach the daemon. They are opened before the database, so that a failure here
    /// does not leave a new database behind.
    private struct Door {
        let spool: Spool
        let socket: ControlSocket

        init(_ configuration: DaemonConfiguration, passed: PassedSocket?) throws {
            spool = try Spool(directory: configuration.spoolDirectory, maxBytes: configuration.spool.maxBytes)
            socket = try ControlSocket.open(configuration, passed: passed)
        }
    }

    private static func run(
        _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings, _ store: SQLiteJobStore,
        after lastEnd: LastEnd, _ kinds: KindSet, _ registry: KindRegistry, _ door: Door?, _ ending: HangGuard
    ) async throws {
        let signals = surroundings.handlesSignals ? await SignalService.trap() : nil
        let logger = surroundings.logger
        let notifier = surroundings.notifier
        var isServed = false
        defer { if !isServed { door?.socket.close() } }
        let live = LiveConfiguration(configuration)
        try await store.register(registry.descriptions, now: wallClock())
        let keeper = DefinitionKeeper(store: store, logger: logger)
        try await keeper.seed(from: configuration.definitions)
        try await keeper.load()

        let runner = JobRunner(
            store: store, kinds: registry, settings: configuration.runner, after: lastEnd, logger: logger,
            beforeEachTurn: surroundings.beforeEachTurn
        ) { child throws(JobFailure) in
            try await keeper.plan(child)
        }
        let reloader = Reloader(
            sources: surroundings.sources, live: live, kinds: kinds, runner: runner, notifier: notifier,
            threshold: surroundings.logThreshold, logger: logger
        ) { () throws(StoreError) in
            try await keeper.load()
        }
        let hang = HangGuard(notifier: notifier, logger: logger, onHang: surroundings.onHang)
        let problems: @Sendable () -> [String] = {
            var problems = [hang.problem, ending.problem].compactMap(\.self)
            let refused = keeper.refused
            if refused > 0 { problems.append("\(refused) definitions refused, see halyard definitions list") }
            let log = store.logBytes
            if log > 8 * surroundings.store.walBytes {
                problems.append(
                    "the write-ahead log has \(log >> 20) MiB because of a long read; end that read (an open sqlite3 shell?)"
                )
            }
            return problems
        }
        let status = Wakeups()
        let stops = Wakeups()

        var services: [any Service] = [
            StatusService(
                store: store, runner: runner, notifier: notifier, interval: configuration.statusInterval,
                problems: problems, changes: status, logger: logger),
            DefinitionService(store: store, keeper: keeper, logger: logger),
            TakingBackService(store: store, kinds: kinds.kinds + surroundings.kinds, logger: logger),
        ]
        if let interval = surroundings.watchdogInterval {
            services.append(
                WatchdogService(
                    interval: interval, notifier: notifier, hang: hang,
                    waitUntilReady: { await runner.waitUntilReady() },
                    proveProgress: { await runner.proveProgress() }, whatHangs: { runner.snapshot.whatHangs }))
        }
        if let watched = surroundings.memoryPressure {
            services.append(MemoryService(watched: watched, store: store, logger: logger))
        }
        if let signals {
            services.append(
                SignalService(
                    signals: signals, stop: { stops.wake() }, hurry: { runner.hurry() },
                    reload: {
                        try? await reloader.reload()  // The reloader logs it; a signal gets no reply.
                    }, logger: logger))
        }
        let handle = DaemonHandle(stop: { stops.wake() }, hurry: { runner.hurry() })
        let isReady: @Sendable () -> Void = {
            // The log comes first, so that it precedes the manager's own message in the journal.
            logger.notice("ready", metadata: ["HALYARD_EVENT": "daemon-ready"])
            notifier.send(.ready)
            status.wake()
            surroundings.onReady(handle)
        }
        // With `--once`, schedules do not fire.
        var scheduler: Scheduler?
        if let door {
            let control = try await control(
                door, store, runner, keeper.catalog, problems: problems, live: live, reloader)
            let planner = Scheduler(store: store, logger: logger, zone: .local(), onChange: { status.wake() }) {
                (schedule) throws(StoreError) in
                try await control.work(of: schedule)
            }
            try await planner.prepare()
            scheduler = planner
            let server = ControlServer(control: control, socket: door.socket, logger: logger)
            services.append(ControlService(server: server, runner: runner, isReady: isReady))
        } else {
            services.append(OnceService(store: store, runner: runner, isReady: isReady) { stops.wake() })
        }
        services.append(
            RunnerService(
                runner: runner, notifier: notifier, ending: ending, patience: surroundings.endPatience,
                drainTimeout: { live.value.drainTimeout }, grace: { live.value.grace }, status: status,
                logger: logger))
        if let scheduler { services.append(ScheduleService(scheduler: scheduler)) }

        var quiet = logger
        quiet.logLevel = .critical
        // Shut down in reverse order: first the schedules stop, then the runner drains, while the socket and the status
        // still answer.
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { service in
                    // The runner may end by itself after a failure. Then the whole group shuts down, since the
                    // other services need it.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: service is RunnerService ? service : LastingService(base: service),
                        successTerminationBehavior: .gracefullyShutdownGroup)
                }, logger: quiet))
        // Leaving this scope cancels and ends the task.
        async let _: Void = forward(stops, to: group)
        isServed = true
        try await group.run()
    }

    private static func forward(_ stops: Wakeups, to group: ServiceGroup) async {
        for await _ in stops.stream { await group.triggerGracefulShutdown() }
    }

    /// Creates the control for the server. The socket already listens, so early callers wait until the server
    /// runs.
    private static func control(
        _ door: Door, _ store: SQLiteJobStore, _ runner: JobRunner, _ catalog: CurrentCatalog,
        problems: @escaping @Sendable () -> [String],
        live: LiveConfiguration, _ reloader: Reloader
    ) async throws -> StoreControl {
        let glance = FileGlance()
        let hooks = DaemonHooks(
            runner: runner, startedAt: wallClock(), spool: door.spool, problems: problems,
            beginInputCheck: {
                let configuration = live.value
                let looks = glance.request()
                return { inputs in
                    for input in inputs {
                        if let problem = configuration.problem(of: input) { return problem }
                    }
                    return await looks.first(of: inputs.filter { configuration.file(in: $0) != nil }) {
                        configuration.problem(ofFileIn: $0)
                    }
                }
            },
            reload: { () throws(ControlProblem) in try await reloader.reload() })
        let control = StoreControl(
            store: store, database: store.path, version: Version.current, daemon: hooks, catalog: catalog,
            now: { wallClock() })
        try await control.recoverSpool()
        return control
    }
}
