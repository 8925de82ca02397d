import API
import Glibc
import Jobs
import Logging
import SQLiteStore
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
        var lock: DatabaseLock?
        // The workers end first: the next daemon must not start while one of them writes files.
        defer { lock?.release() }
        do {
            for warning in workers.warnings { surroundings.logger.warning("\(warning)") }
            try await check(configuration, with: workers, in: surroundings)
            let acquired = try await acquireLock(configuration, in: surroundings)
            lock = acquired
            try await run(configuration, holding: acquired, with: workers, in: surroundings)
        } catch {
            await workers.close()
            throw error
        }
        await workers.close()
        surroundings.logger.notice("stopped", metadata: ["HALYARD_EVENT": "daemon-stopped"])
        surroundings.notifier.status("stopped")
    }

    private static func run(
        _ configuration: DaemonConfiguration, holding lock: DatabaseLock, with workers: WorkerSet,
        in surroundings: DaemonSurroundings
    ) async throws {
        let lastEnd = lock.lastEnd
        if surroundings.handlesSignals { lock.marksCrashes() }
        try narrowModes(configuration, in: surroundings)
        try configuration.makeFolders()
        try await workers.prepare(configuration, in: surroundings)
        let ending = HangGuard(
            notifier: surroundings.notifier, logger: surroundings.logger, onHang: surroundings.onHang)
        defer { ending.ended() }
        let endpoint = surroundings.runsOnce ? nil : try ControlEndpoint(configuration, passed: surroundings.socket)
        let store = try await closing(endpoint) { try open(lock, configuration, in: surroundings) }
        do {
            let assembly = try await closing(endpoint) {
                let registry = try workers.assign(known: try await store.definitions().kinds)
                return try await Assembly(
                    configuration, surroundings, store, after: lastEnd, workers, registry, endpoint, ending)
            }
            try await assembly.run()
        } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// A database is created only if nothing else prevents the start.
    private static func check(
        _ configuration: DaemonConfiguration, with workers: WorkerSet, in surroundings: DaemonSurroundings
    ) async throws {
        let isNew = access(configuration.database, F_OK) != 0
        // The first definitions of a new database cannot be checked without the worker's kinds.
        if let reason = workers.builtInFault {
            if isNew { throw DaemonFailure(ofWorker: reason) }
            surroundings.logger.error("halyard-worker \(reason); the jobs of its kinds wait until it can run")
        }
        let registry = try workers.assign()
        let refusals = workers.refusals(of: configuration)
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

    private static func acquireLock(
        _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings
    ) async throws -> DatabaseLock {
        let notifier = surroundings.notifier
        notifier.status("starting; opening \(configuration.database)")
        // Checking, migrating and recovering a large database may take longer than the unit's TimeoutStartSec=.
        // The service manager ends a start that also exceeds this extension.
        notifier.send(.extendTimeout(by: .seconds(600)))
        return try await DatabaseLock.acquire(
            forDatabaseAt: configuration.database, as: surroundings.runsOnce ? .once : .daemon,
            waiting: surroundings.lockPatience
        ) { holder in
            let who = holder.pid.map { "process \($0)" } ?? "another process"
            notifier.status("starting; waiting for \(who), a command that is using \(configuration.database)")
            surroundings.logger.notice("waiting for \(who), which is using \(configuration.database)")
        }
    }

    private static func narrowModes(
        _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings
    ) throws(StoreOpenError) {
        do throws(StoreOpenError) {
            try SQLiteJobStore.checkHeader(ofDatabaseAt: configuration.database)
            for change in DatabaseModes.narrow(configuration.database) { surroundings.logger.warning("\(change)") }
        } catch {
            // The file of another program keeps its mode, and no file is created next to it.
            if error.isOfAnotherProgram { throw error }
            // Opening the database creates it, or reports the problem in more detail.
        }
    }

    private static func open(
        _ lock: DatabaseLock, _ configuration: DaemonConfiguration, in surroundings: DaemonSurroundings
    ) throws -> SQLiteJobStore {
        surroundings.notifier.status("starting; opening \(configuration.database)")
        let store = try SQLiteJobStore.open(lock, options: surroundings.store)
        if !store.isWatchingFiles {
            surroundings.logger.warning(
                "cannot watch the database's files, because the limit on inotify instances is reached; a removed database is noticed only at the next write. Raise fs.inotify.max_user_instances"
            )
        }
        return store
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
