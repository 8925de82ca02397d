import ControlProtocol
import Jobs
import Logging
import Runner
import Settings
import Synchronization
import Systemd

/// Reads the configuration and the definitions again, applies all changes or none, and reports the reload to
/// the service manager.
actor Reloader {
    private let surroundings: DaemonSurroundings
    private let live: LiveConfiguration
    private let workers: WorkerSet
    private let runner: JobRunner
    private let exchangeKinds: @Sendable () async throws(StoreError) -> Void
    private let loadDefinitions: @Sendable () async throws(StoreError) -> Void

    private var notifier: Notifier { surroundings.notifier }
    private var threshold: LogThreshold { surroundings.logThreshold }
    private var logger: Logger { surroundings.logger }

    /// The numbers of the last reload that read the file, and of the one whose file is in force.
    private var lastNumber = 0
    private var appliedNumber = 0

    init(
        _ surroundings: DaemonSurroundings, live: LiveConfiguration, workers: WorkerSet, runner: JobRunner,
        exchangeKinds: @escaping @Sendable () async throws(StoreError) -> Void = {},
        loadDefinitions: @escaping @Sendable () async throws(StoreError) -> Void
    ) {
        self.surroundings = surroundings
        self.live = live
        self.workers = workers
        self.runner = runner
        self.exchangeKinds = exchangeKinds
        self.loadDefinitions = loadDefinitions
    }

    /// Reloads the configuration and the definitions. If it throws, the old configuration stays in force.
    ///
    /// - Returns: The workers that cannot run now although their configuration is unchanged.
    @discardableResult
    func reload() async throws(ControlProblem) -> ReloadReport {
        notifier.reloading()
        // Report ready in both cases: after a refused reload, the daemon works as before.
        defer { notifier.send(.ready) }
        do throws(ControlProblem) {
            // A bad file is refused before anything changes.
            let (next, plan) = try await check(try read())
            lastNumber += 1
            let number = lastNumber
            do throws(StoreError) {
                try await loadDefinitions()
            } catch {
                throw ControlProblem(.storage, error.description)
            }
            // Another reload may have applied a newer file in the meantime.
            if number > appliedNumber {
                appliedNumber = number
                apply(next, plan)
                await useKinds()
            }
            logger.notice("reloaded", metadata: ["HALYARD_EVENT": "reloaded"])
            for fault in plan.faults { logger.error("\(fault)") }
            return ReloadReport(problems: plan.faults)
        } catch {
            logger.error(
                "reload refused; nothing was changed: \(error.message) \(error.details.joined(separator: " "))",
                metadata: [
                    "HALYARD_EVENT": "reload-refused",
                    "HALYARD_ERROR": "\(error.message) \(error.details.joined(separator: " "))",
                ])
            throw error
        }
    }

    private func read() throws(ControlProblem) -> DaemonConfiguration {
        guard let sources = surroundings.sources else { return live.value }
        do throws(ConfigurationProblem) {
            return try DaemonConfiguration.load(sources)
        } catch {
            throw ControlProblem(
                .invalidConfiguration, "The configuration is invalid; correct it, then reload again.",
                details: error.problems)
        }
    }

    /// Checks everything, so that one refusal lists all problems: settings that need a restart, and workers that cannot run.
    private func check(
        _ next: DaemonConfiguration
    ) async throws(ControlProblem) -> (DaemonConfiguration, WorkerSet.Plan) {
        let old = live.value
        let fixed = DaemonSetting.all.filter { !$0.isLive && !$0.isSame(old, next) }.map(\.key)
        var problems = ConfigurationCheck(next, for: .reload).errors
        do throws(ConfigurationProblem) {
            let plan = try await workers.check(next, in: surroundings)
            if fixed.isEmpty && problems.isEmpty { return (next, plan) }
        } catch {
            problems += error.problems
        }
        throw ControlProblem(
            .invalidConfiguration,
            fixed.isEmpty
                ? "The configuration is invalid; correct it, then reload again."
                : "A reload cannot change \(fixed.joined(separator: ", ")). Restart halyardd, or undo the change.",
            details: problems)
    }

    /// Uses the kinds of the workers before callers hear of the reload.
    private func useKinds() async {
        do throws(StoreError) {
            try await exchangeKinds()
        } catch {
            // `WorkerService` repeats it.
            logger.warning("the workers' kinds take effect later, because they cannot be stored now: \(error)")
        }
    }

    private func apply(_ configuration: DaemonConfiguration, _ plan: WorkerSet.Plan) {
        live.value = configuration
        threshold.level = configuration.logLevel
        runner.apply(configuration.runner)
        workers.use(plan)
    }
}

/// The configuration in force.
final class LiveConfiguration: Sendable {
    private let configuration: Mutex<DaemonConfiguration>

    init(_ configuration: DaemonConfiguration) { self.configuration = Mutex(configuration) }

    var value: DaemonConfiguration {
        get { configuration.withLock { $0 } }
        set { configuration.withLock { $0 = newValue } }
    }
}

extension DaemonConfiguration {
    var runner: RunnerSettings {
        RunnerSettings(slots: slots, ageing: ageing, maxRescues: maxRescues, grace: grace)
    }
}
