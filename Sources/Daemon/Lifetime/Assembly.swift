import API
import CalendarEvents
import ControlProtocol
import JobFiles
import Jobs
import Logging
import ProgramKind
import Runner
import ServiceLifecycle
import StoreControl
import Stores
import Systemd
import UnixSignals

/// The parts of a daemon on its open store, and the connections between them.
struct Assembly {
    private let configuration: DaemonConfiguration
    private let surroundings: DaemonSurroundings
    private let opened: OpenedStore
    private let store: any JobStore
    private let workers: WorkerSet
    private let kinds: KindExchange
    private let live: LiveConfiguration
    private let keeper: DefinitionKeeper
    private let runner: JobRunner
    /// The logs and kept files of jobs, which kinds in the daemon write and callers read.
    private let files: JobFiles
    private let reloader: Reloader
    /// Notices when the running daemon hangs, and when it does not end.
    private let hang: HangGuard
    private let ending: HangGuard
    private let status = Wakeups()
    private let stops = Wakeups()
    private var services: [any Service] = []
    /// Settles the files of jobs if the daemon runs without callers.
    private var onceControl: StoreControl?

    private var logger: Logger { surroundings.logger }
    private var notifier: Notifier { surroundings.notifier }

    /// Registers the kinds and loads the definitions. Nothing runs until ``run()``.
    ///
    /// - Parameter endpoint: Nil if the daemon runs the stored jobs once, without callers.
    init(
        _ configuration: DaemonConfiguration, _ surroundings: DaemonSurroundings, _ opened: OpenedStore,
        after lastEnd: LastEnd, _ workers: WorkerSet, _ registry: KindRegistry, _ endpoint: ControlEndpoint?,
        _ ending: HangGuard
    ) async throws {
        // Trap signals first: a signal that arrives before the services run is delivered when they do.
        let signals = surroundings.handlesSignals ? await SignalService.trap() : nil
        let logger = surroundings.logger
        let notifier = surroundings.notifier
        self.configuration = configuration
        self.surroundings = surroundings
        self.opened = opened
        let store = opened.store
        self.store = store
        self.workers = workers
        files =
            configuration.hasOwnHome
            ? JobFiles(folder: configuration.filesDirectory) : JobFiles(nextTo: opened.home)
        workers.programs.keep(in: JobProgramFiles(files, logger: logger))
        self.ending = ending
        hang = HangGuard(notifier: notifier, logger: logger, onHang: surroundings.onHang)
        live = LiveConfiguration(configuration)
        let keeper = DefinitionKeeper(store: store, logger: logger)
        self.keeper = keeper
        let runner = JobRunner(
            store: store, as: .thisDaemon(opened, configuration), kinds: registry, settings: configuration.runner,
            after: lastEnd, logger: logger,
            beforeEachExchange: surroundings.beforeEachExchange
        ) { child throws(JobFailure) in
            try await keeper.plan(child)
        }
        self.runner = runner
        let holder = try await runner.begin()
        try await store.register(registry.descriptions, by: holder, now: now(of: store))
        try await keeper.seed(from: configuration.definitions, checkedBy: registry)
        try await keeper.load(by: holder)
        let kinds = KindExchange(workers, store: store, runner: runner, keeper: keeper)
        self.kinds = kinds
        reloader = Reloader(
            surroundings, live: live, workers: workers, runner: runner,
            exchangeKinds: { () throws(StoreError) in try await kinds.exchange() }
        ) { () throws(StoreError) in
            try await keeper.load(by: try await runner.begin())
        }
        // They shut down in reverse order: first the schedules stop, then the runner drains, while the socket
        // and the status still answer.
        services += observers
        if let signals { services.append(signalService(signals)) }
        if let endpoint {
            let control = try await control(spool: endpoint.spool)
            let schedules = try await scheduleRunner(control)
            services.append(server(control, endpoint))
            if store.capabilities.holders == .many {
                services.append(LeftoverService(runner: runner, control: control, logger: logger))
            }
            services.append(runnerService)
            services.append(ScheduleService(runner: schedules))
        } else {
            onceControl = try await control(spool: nil)
            // Without schedules: they do not fire with `--once`.
            let stops = stops
            services.append(
                OnceService(store: store, runner: runner, workers: workers, isReady: isReady) { stops.wake() })
            services.append(runnerService)
        }
    }

    /// Runs the services until one fails, or until the daemon is asked to stop.
    func run() async throws {
        var quiet = logger
        quiet.logLevel = .critical
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { service in
                    // The runner may end by itself after a failure. Then the whole group shuts down, since the
                    // other services need it.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: service is RunnerService ? service : UntilShutdownService(base: service),
                        successTerminationBehavior: .gracefullyShutdownGroup,
                        // This service fails only when no job that is left can run.
                        failureTerminationBehavior: service is OnceService ? .gracefullyShutdownGroup : .cancelGroup)
                }, logger: quiet))
        // Leaving this scope cancels and ends the task.
        async let _: Void = Self.forward(stops, to: group)
        try await group.run()
        await settleFiles()
    }

    /// Settles the files of the jobs that ended last, which the control's own thread may not have reached yet.
    private func settleFiles() async {
        do throws(ControlProblem) {
            try await onceControl?.recoverFiles()
        } catch {
            // The run itself succeeded.
            logger.warning("The files of some jobs were not settled; the next start retries it: \(error.message)")
        }
    }

    private static func forward(_ stops: Wakeups, to group: ServiceGroup) async {
        for await _ in stops.stream { await group.triggerGracefulShutdown() }
    }

    // MARK: Services

    /// The services that watch the store, the runner and the machine.
    private var observers: [any Service] {
        let runner = runner
        var services: [any Service] = [
            StatusService(
                store: store, runner: runner, notifier: notifier, interval: configuration.statusInterval,
                problems: problems, changes: status, logger: logger),
            DefinitionService(store: store, runner: runner, keeper: keeper, logger: logger),
            CleanUpService(store: store, kinds: { runner.kinds }, logger: logger),
            WorkerService(workers: workers, kinds: kinds, status: status, logger: logger),
        ]
        let status = status
        workers.observeRests { status.wake() }
        if let interval = surroundings.watchdogInterval {
            let isOnServer = store.capabilities.holders == .many
            services.append(
                WatchdogService(
                    interval: interval, notifier: notifier, hang: hang,
                    waitUntilReady: { await runner.waitUntilReady() },
                    proveProgress: { await runner.proveProgress() }, whatHangs: { runner.snapshot.whatHangs },
                    awaitsServer: { isOnServer && runner.snapshot.awaitsStore }))
        }
        if let watched = surroundings.memoryPressure {
            services.append(MemoryService(watched: watched, releaseMemory: opened.releaseMemory, logger: logger))
        }
        return services
    }

    private func signalService(_ signals: UnixSignalsSequence) -> SignalService {
        SignalService(
            signals: signals, stop: handle.stop, interrupt: handle.interrupt,
            reload: { [reloader] in
                _ = try? await reloader.reload()  // The reloader logs it; a signal gets no reply.
            }, logger: logger)
    }

    private func scheduleRunner(_ control: StoreControl) async throws -> ScheduleRunner {
        let status = status
        let (store, identity) = (store, opened.identity?.text)
        let runner = ScheduleRunner(
            store: store, logger: logger, zone: .local(), onChange: { status.wake() },
            isDrained: { () throws(StoreError) in
                guard let identity else { return false }
                return try await store.holders().contains {
                    $0.holder.identity == identity && $0.endedAt == nil && $0.drainedAt != nil
                }
            }
        ) { (schedule) throws(StoreError) in
            try await control.work(of: schedule)
        }
        try await runner.prepare()
        return runner
    }

    private func server(_ control: StoreControl, _ endpoint: ControlEndpoint) -> ControlService {
        ControlService(
            server: ControlServer(control: control, socket: endpoint.socket, logger: logger), runner: runner,
            isReady: isReady)
    }

    private var runnerService: RunnerService {
        let live = live
        return RunnerService(
            runner: runner, notifier: notifier, ending: ending, patience: surroundings.endPatience,
            drainTimeout: { live.value.drainTimeout }, grace: { live.value.grace }, status: status, logger: logger)
    }

    // MARK: Connections

    private var handle: DaemonHandle {
        let (stops, runner) = (stops, runner)
        return DaemonHandle(stop: { stops.wake() }, interrupt: { runner.interrupt() })
    }

    private var isReady: @Sendable () -> Void {
        let (logger, notifier, status, handle, onReady) = (logger, notifier, status, handle, surroundings.onReady)
        return {
            // The log comes first, so that it precedes the manager's own message in the journal.
            logger.notice("ready", metadata: ["HALYARD_EVENT": "daemon-ready"])
            notifier.send(.ready)
            status.wake()
            onReady(handle)
            StartPages.release()
        }
    }

    private var problems: @Sendable () -> [String] {
        let (hang, ending, keeper, opened, workers) = (hang, ending, keeper, opened, workers)
        return {
            var problems = [hang.problem, ending.problem].compactMap(\.self) + workers.problems
            let refused = keeper.refused
            if refused > 0 { problems.append("\(refused) definitions refused, see halyard definitions list") }
            return problems + opened.problems()
        }
    }

    /// Creates the control, and recovers the files of jobs. A socket already listens, so early callers wait until the
    /// server runs.
    ///
    /// - Parameter spool: Nil without callers, who would send files.
    private func control(spool: Spool?) async throws -> StoreControl {
        let (checks, runner, reloader) = (BlockingChecks(), runner, reloader)
        let hooks = DaemonHooks(
            runner: runner, workers: workers, startedAt: wallClock(), spool: spool, identity: opened.identity?.text,
            sharesSpool: configuration.spool.isShared, files: files,
            problems: problems,
            beginInputCheck: {
                let request = checks.request()
                let inputs = InputCheck(kinds: runner.kinds)
                return { planned in
                    var problems = await inputs.problems(of: planned)
                    for (index, input) in planned.enumerated() where problems[index] == nil {
                        guard let check = inputs.blockingCheck(of: input) else { continue }
                        problems[index] = await request.firstProblem(of: [check])
                    }
                    return problems
                }
            },
            reload: { () throws(ControlProblem) in try await reloader.reload() })
        let control = StoreControl(
            store: store, database: opened.name, version: Version.current, daemon: hooks, catalog: keeper.catalog,
            now: { wallClock() })
        try await control.recoverSpool()
        try await control.recoverFiles()
        return control
    }
}
