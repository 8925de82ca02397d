import API
import Jobs
import Logging
import Stores
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
        let workers = await WorkerSet(configuration, in: surroundings)
        var reserved: (any ReservedStore)?
        // The workers end first: the next daemon must not start while one of them writes files.
        defer { reserved?.release() }
        do {
            for warning in workers.warnings { surroundings.logger.warning("\(warning)") }
            let opening = try surroundings.opening(configuration)
            try await check(configuration, isNew: opening.isNew, with: workers, in: surroundings)
            let own = try await reserve(opening, in: surroundings)
            reserved = own
            try await run(configuration, on: own, with: workers, in: surroundings)
        } catch {
            await workers.close()
            throw error
        }
        await workers.close()
        surroundings.logger.notice("stopped", metadata: ["HALYARD_EVENT": "daemon-stopped"])
        surroundings.notifier.status("stopped")
    }

    private static func run(
        _ configuration: DaemonConfiguration, on reserved: any ReservedStore, with workers: WorkerSet,
        in surroundings: DaemonSurroundings
    ) async throws {
        let lastEnd = reserved.lastEnd
        if surroundings.handlesSignals { reserved.marksCrashes() }
        for change in try reserved.narrowModes() { surroundings.logger.warning("\(change)") }
        try configuration.makeFolders()
        try await workers.prepare(configuration, in: surroundings)
        let ending = HangGuard(
            notifier: surroundings.notifier, logger: surroundings.logger, onHang: surroundings.onHang)
        defer { ending.ended() }
        let endpoint = surroundings.runsOnce ? nil : try ControlEndpoint(configuration, passed: surroundings.socket)
        let opened = try await closing(endpoint) {
            surroundings.notifier.status("starting; opening \(configuration.address)")
            return try await reserved.open()
        }
        for warning in opened.warnings { surroundings.logger.warning("\(warning)") }
        do {
            let assembly = try await closing(endpoint) {
                let known = try await opened.store.kinds(registeredBy: opened.identity?.text ?? "")
                let registry = try workers.assign(known: known)
                return try await Assembly(
                    configuration, surroundings, opened, after: lastEnd, workers, registry, endpoint, ending)
            }
            try await assembly.run()
        } catch {
            await opened.close()
            throw error
        }
        await opened.close()
    }

    /// A database is created only if nothing else prevents the start.
    private static func check(
        _ configuration: DaemonConfiguration, isNew: Bool, with workers: WorkerSet,
        in surroundings: DaemonSurroundings
    ) async throws {
        // The first definitions of a new database cannot be checked without the worker's kinds.
        if let reason = workers.builtInFault {
            if isNew { throw DaemonFailure(ofWorker: reason) }
            surroundings.logger.error("halyard-worker \(reason); the jobs of its kinds wait until it can run")
        }
        let registry = try workers.assign()
        let refusals = workers.refusals(of: configuration) + workers.unknownKinds(in: configuration, registry)
        let faults = workers.faults(of: configuration)
        for fault in faults { surroundings.logger.error("\(fault); the jobs of its kinds wait until it can run") }
        do throws(ConfigurationProblem) {
            try await configuration.check(
                for: .start(opensSocket: !surroundings.runsOnce && surroundings.socket == nil),
                refusedByWorkers: refusals, firstDefinitions: isNew && refusals.isEmpty ? registry : nil)
        } catch {
            // The first definitions may name kinds of the workers that do not run.
            throw isNew ? ConfigurationProblem(error.problems + faults, transientCode: error.transientCode) : error
        }
    }

    private static func reserve(
        _ opening: any StoreOpening, in surroundings: DaemonSurroundings
    ) async throws -> any ReservedStore {
        let notifier = surroundings.notifier
        let address = opening.address
        notifier.status("starting; opening \(address)")
        // Checking, migrating and recovering a large database may take longer than the unit's TimeoutStartSec=.
        // The service manager ends a start that also exceeds this extension.
        notifier.send(.extendTimeout(by: .seconds(600)))
        return try await opening.reserve(
            as: surroundings.runsOnce ? .once : .daemon, waiting: surroundings.lockPatience
        ) { user in
            let who = user.pid.map { "process \($0)" } ?? "another process"
            notifier.status("starting; waiting for \(who), a command that is using \(address)")
            surroundings.logger.notice("waiting for \(who), which is using \(address)")
        }
    }

    /// Closes the endpoint if a step of the start fails. Once the services run, the server closes it.
    private static func closing<Value>(
        _ endpoint: ControlEndpoint?, ifFails step: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await step()
        } catch {
            endpoint?.socket.close()
            throw error
        }
    }
}
