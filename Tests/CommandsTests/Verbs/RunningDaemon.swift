import API
import ControlProtocol
import Foundation
import JobFiles
import Jobs
import Logging
import OperationTypes
import StoreControl
import Synchronization

@testable import Commands

/// A daemon as the command line sees it: a real server on a real socket over a real store. The test acts as the runner.
struct RunningDaemon: Sendable {
    let shop: Workshop
    let store: any JobStore
    let files: JobFiles
    private let reports: Reports
    let reloads: Reloads

    /// Runs `body` with a daemon whose only root is the workshop's folder `roots`.
    ///
    /// - Parameter prepare: The work of a start, before callers are served.
    static func with(
        _ shop: Workshop, preparing prepare: @Sendable (any JobStore) async throws -> Void = { _ in },
        _ body: @Sendable (RunningDaemon) async throws -> Void
    ) async throws {
        let (store, close) = try await shop.stored.open()
        try await prepare(store)
        let reports = Reports()
        let reloads = Reloads()
        let roots = shop.directory.appending(path: "roots").path + "/"
        let files = JobFiles(nextTo: shop.directory.path + "/halyard.db") { Samples.now }
        let hooks = DaemonHooks(
            condition: { .init(state: .running, pid: 42, startedAt: Samples.now) },
            progress: { reports.latest($0) }, observeProgress: { _, observer in reports.observe(observer) },
            workers: { Samples.workers + reloads.checked },
            waitForWorker: { kind, isSuspect in kind == "enrich" ? .worker(problem: "It rests.") : nil },
            reload: { () throws(ControlProblem) in try await reloads.next() },
            beginInputCheck: {
                { inputs in
                    inputs.map { input in
                        guard let file = JSONObject(input.input)?["file"]?.decodedString, !file.hasPrefix("spool:"),
                            !file.hasPrefix(roots)
                        else { return nil }
                        return ControlProblem(.outsideRoots, "\(file) is outside the roots.")
                    }
                }
            },
            spool: try Spool(directory: shop.directory.appending(path: "spool").path, maxBytes: 1 << 20), files: files)
        let control = StoreControl(
            store: store, database: shop.stored.name, version: Version.current, daemon: hooks, now: { Samples.now })
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = ControlServer(control: control, socket: try ControlSocket(path: shop.socket), logger: logger)
        let running = Task { try await server.run() }
        let outcome: Result<Void, any Error>
        do {
            try await body(RunningDaemon(shop: shop, store: store, files: files, reports: reports, reloads: reloads))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        running.cancel()
        try await running.value
        try await close()
        try outcome.get()
    }

    func claim() async throws -> [ClaimedJob] {
        try await store.exchange([], claim: ClaimRequest(slots: 100), now: Samples.now).claimed
    }

    func finish(_ job: ClaimedJob, _ ending: AttemptEnd.Ending) async throws {
        _ = try await store.exchange(
            [AttemptEnd(lease: job.lease, ending: ending)], claim: nil, now: Samples.now + .seconds(2))
    }

    func report(_ job: JobID, _ progress: OperationProgress) { reports.report(job, progress) }

    /// Returns once a caller watches the progress of jobs.
    func waitForWatcher() async { await reports.waitForObserver() }

    final class Reloads: Sendable {
        private let problem = Mutex<ControlProblem?>(nil)

        func refuse(_ refusal: ControlProblem?) { problem.withLock { $0 = refusal } }

        private let report = Mutex(ReloadReport())

        func answer(_ answer: ReloadReport) { report.withLock { $0 = answer } }

        private let waiting = Mutex<(worker: WorkerRecord, until: Latch<Void>)?>(nil)

        /// Lets a reload wait for this worker until the latch is open.
        func wait(for worker: WorkerRecord, until latch: Latch<Void>) { waiting.withLock { $0 = (worker, latch) } }

        var checked: [WorkerRecord] { waiting.withLock { $0.map { [$0.worker] } ?? [] } }

        func next() async throws(ControlProblem) -> ReloadReport {
            await waiting.withLock { $0?.until }?.uncancellableWait()
            if let refusal = problem.withLock({ $0 }) { throw refusal }
            return report.withLock(\.self)
        }
    }

    private final class Reports: Sendable {
        private struct State {
            var latest: [JobID: OperationProgress] = [:]
            var observers: [Int: ProgressObserver] = [:]
            var next = 0
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        private let state = Mutex(State())

        func latest(_ job: JobID) -> OperationProgress? { state.withLock { $0.latest[job] } }

        func observe(_ observer: @escaping ProgressObserver) -> StoreObservation {
            let (id, waiting) = state.withLock { state in
                state.next += 1
                state.observers[state.next] = observer
                defer { state.waiting = [] }
                return (state.next, state.waiting)
            }
            for continuation in waiting { continuation.resume() }
            return StoreObservation { [weak self] in self?.forget(id) }
        }

        private func forget(_ id: Int) { state.withLock { $0.observers[id] = nil } }

        func report(_ job: JobID, _ progress: OperationProgress) {
            let observers = state.withLock { state in
                state.latest[job] = progress
                return Array(state.observers.values)
            }
            for observer in observers { observer(job, progress) }
        }

        func waitForObserver() async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.observers.isEmpty { state.waiting.append(continuation) }
                    return !state.observers.isEmpty
                }
                if isThere { continuation.resume() }
            }
        }
    }
}
