import Client
import ControlProtocol
import Glibc
import Jobs
import OperationTypes

/// Enqueues jobs with a running daemon and reads their typed results.
///
/// ```swift
/// import HalyardClient
///
/// let daemon = DaemonClient()
/// var graph = JobGraph(name: "save")
/// let link = graph.add(Unfurl.self, input: .init(url: "https://example.com/short"))
/// let page = graph.add(Enrich.self, from: link)
/// try await daemon.enqueue(graph)
/// print(try await daemon.result(of: page).title)
/// ```
///
/// `Unfurl` and `Enrich` are signatures that the program declares (``KindSignature``), or kinds of its own worker. The
/// other verbs, such as cancelling, pausing a queue or watching, are those of ``control``.
///
/// A client may be shared by any number of tasks. It keeps connections open between calls.
public struct DaemonClient: Sendable {
    /// All verbs of the daemon.
    public let control: SocketControl

    /// Creates a client; it connects when it is first used.
    ///
    /// - Parameters:
    ///   - socket: The path of the daemon's socket. Default: the environment variable `HALYARD_SOCKET`, or
    ///     `/run/halyard/halyard.sock` if it exists, or the socket of a daemon of this user.
    ///   - timeout: How long the daemon may take to answer a request, apart from waits for results.
    public init(socket: String? = nil, timeout: Duration = .seconds(30)) {
        let standard = DefaultPaths(
            variable: { getenv($0).map { String(cString: $0) } }, exists: { access($0, F_OK) == 0 })
        control = SocketControl(path: socket ?? standard.socket, timeout: timeout)
    }

    // MARK: Enqueueing

    /// Enqueues a graph. When it returns, the jobs survive a power cut, and each node knows its job
    /// (``JobGraph/Node/job``).
    ///
    /// - Parameter key: The caller's name for this request, 1 to 255 bytes. Repeating the request with the same key
    ///   enqueues nothing more and returns the same receipt. Without a key, repeating it after `unknownOutcome` may
    ///   enqueue the graph twice.
    /// - Throws: ``DaemonClientError``. A refused graph is refused as a whole.
    @discardableResult
    public func enqueue(_ graph: JobGraph, key: String? = nil) async throws(DaemonClientError) -> EnqueueReceipt {
        let submission: Submission
        do throws(JobGraphProblem) {
            submission = try graph.submission(key: key)
        } catch {
            throw .graph(error)
        }
        let receipt = try await asked { () throws(ControlProblem) in try await control.enqueue(submission) }
        graph.noteEnqueued(receipt)
        return receipt
    }

    /// Enqueues one job, as a graph with one node.
    ///
    /// - Parameters:
    ///   - definition: The name of the definition. Default: the kind's name.
    ///   - key: As in ``enqueue(_:key:)``.
    /// - Returns: A handle for ``result(of:waiting:)``.
    /// - Throws: ``DaemonClientError``.
    @discardableResult
    public func enqueue<K: KindSignature>(
        _ kind: K.Type = K.self, definition: String? = nil, input: K.Input, key: String? = nil
    ) async throws(DaemonClientError) -> JobGraph.Node<K> {
        var graph = JobGraph()
        // The input alone decides; what the kind accepts from dependencies does not matter without any.
        let node = graph.add(kind, input: input)
        if let definition { graph[node].definition = definition }
        try await enqueue(graph, key: key)
        return node
    }

    // MARK: Results

    /// Waits until the job of a node has ended, and returns its output. It also waits while the daemon restarts.
    ///
    /// - Parameter limit: The longest wait. Default: no limit. Cancelling the task ends the wait as well.
    /// - Throws: ``DaemonClientError``: `notEnqueued` if the node's graph was not enqueued with this process's
    ///   ``enqueue(_:key:)``, `ended` if the job failed, or was cancelled or skipped, `stillRunning` after the limit,
    ///   and `unreadable` if the output lacks a field of `K.Output`. Waiting again is safe.
    public func result<K: KindSignature>(
        of node: JobGraph.Node<K>, waiting limit: Duration? = nil
    ) async throws(DaemonClientError) -> K.Output {
        guard let job = node.job else { throw .notEnqueued(node: node.name) }
        return try await result(of: job, as: K.self, waiting: limit)
    }

    /// Waits until a job has ended, and returns its output.
    ///
    /// - Parameters:
    ///   - kind: The signature of the job's kind. The daemon does not compare it with the job.
    ///   - limit: As in ``result(of:waiting:)``.
    /// - Throws: ``DaemonClientError``, as ``result(of:waiting:)`` does.
    public func result<K: KindSignature>(
        of job: JobID, as kind: K.Type = K.self, waiting limit: Duration? = nil
    ) async throws(DaemonClientError) -> K.Output {
        let result = try await finalResult(of: job, waiting: limit)
        switch result.value {
        case .ended(let outcome, let failure): throw .ended(job, outcome, failure)
        case .succeeded(let output):
            do {
                return try PayloadCoding.decode(K.Output.self, from: output)
            } catch {
                throw .unreadable(job, kind: K.name, reason: PayloadCoding.explain(error))
            }
        }
    }

    private func finalResult(of job: JobID, waiting limit: Duration?) async throws(DaemonClientError) -> JobResult {
        let clock = ContinuousClock()
        let end = limit.map { clock.now + $0 }
        var pause = Duration.zero
        while true {
            let wait = end.map { max(.zero, $0 - clock.now) } ?? Self.longestCall
            do throws(ControlProblem) {
                if let result = try await control.result(job, waiting: min(wait, Self.longestCall)) { return result }
            } catch {
                guard isRestart(error), !Task.isCancelled else { throw .daemon(error) }
                // A daemon that answers but cannot serve the call now must not be asked without a pause.
                let rest = end.map { max(.zero, $0 - clock.now) } ?? pause
                try? await Task.sleep(for: min(pause, rest))  // Cancellation ends the next wait.
                pause = min(max(pause * 2, .milliseconds(50)), .seconds(1))
                try await waitForDaemon(until: end)
            }
            if let end, clock.now >= end { throw .stillRunning(job) }
        }
    }

    /// Whether the job continues under the next daemon. A daemon that never answered may not exist at all.
    private func isRestart(_ problem: ControlProblem) -> Bool {
        problem.code == .unavailable || (problem.code == .noDaemon && control.databasePath != nil)
    }

    private static let longestCall = Duration.seconds(3600)

    private func waitForDaemon(until end: ContinuousClock.Instant?) async throws(DaemonClientError) {
        guard let end else { return try await asked { () throws(ControlProblem) in try await control.waitForDaemon() } }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await control.waitForDaemon() }
                group.addTask { try await Task.sleep(until: end, clock: .continuous) }
                try await group.next()
                group.cancelAll()
            }
        } catch let problem as ControlProblem {
            throw .daemon(problem)
        } catch {
            throw .daemon(ControlProblem(.unavailable, "The wait for the daemon was cancelled."))
        }
    }

    private func asked<Value>(
        _ body: () async throws(ControlProblem) -> Value
    ) async throws(DaemonClientError) -> Value {
        do throws(ControlProblem) {
            return try await body()
        } catch {
            throw .daemon(error)
        }
    }
}
