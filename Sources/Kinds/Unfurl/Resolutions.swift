import Jobs
import Synchronization
import Web
import WebSyntax

/// The cached results of recent resolutions, and the resolutions that are running now. Many jobs for one link thus send
/// one request.
///
/// Failures that a retry may solve are not cached.
final class Resolutions: Sendable {
    struct Key: Hashable, Sendable {
        var url: String
        var limit: Int
        var readsPage: Bool
        /// The time limit. A caller with a longer limit must not join a resolution that will be cancelled sooner.
        var timeout: Duration
    }

    typealias Answer = Result<Unfurl.Output, KindFailure>

    private struct Flight {
        let id: UInt64
        /// Nil until ``begin(_:_:on:_:)`` has created the task, which it does without holding the lock.
        var task: Task<Void, Never>?
        /// The log of the resolution's connections. Every waiting caller adds it to its own log.
        let connections: ConnectionLog?
        let stopwatch: Stopwatch
        var waiting: [UInt64: CheckedContinuation<Answer, Never>] = [:]
    }

    private struct State {
        var answers: [Key: (answer: Answer, until: ContinuousClock.Instant)] = [:]
        var flights: [Key: Flight] = [:]
        var lastID: UInt64 = 0
    }

    /// The limit in bytes for all addresses of one result together. A larger result is not cached.
    private static let maxBytes = 32 << 10

    private let state = Mutex(State())
    private let configuration: UnfurlConfiguration
    private let now: @Sendable () -> ContinuousClock.Instant

    init(
        _ configuration: UnfurlConfiguration, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.configuration = configuration
        self.now = now
    }

    /// Returns the cached result for `key`, waits for a running resolution, or starts one with `resolve`.
    ///
    /// - Parameter executor: Runs the resolution if this call starts one.
    /// - Throws: The failure of the resolution, or `cancelled` if the calling task is cancelled. The resolution itself
    ///   continues as long as another caller waits for it.
    func answer(
        _ key: Key, on executor: (any TaskExecutor)? = nil, resolve: @escaping @Sendable (Stopwatch) async -> Answer
    ) async throws(KindFailure) -> Unfurl.Output {
        if let known = kept(key) { return try known.get() }
        let waiter = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        var shared: ConnectionLog?
        let log = ConnectionLog.current.map { ConnectionLog(now: $0.now) }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isCancelled, begun) = state.withLock { state -> (Bool, Flight?) in
                    // Checked under the lock, so that a later cancellation finds the entry below.
                    if Task.isCancelled { return (true, nil) }
                    var begun: Flight?
                    if state.flights[key] == nil {
                        begun = Flight(id: waiter, connections: log, stopwatch: Stopwatch())
                        state.flights[key] = begun
                    }
                    state.flights[key]?.waiting[waiter] = continuation
                    shared = state.flights[key]?.connections
                    return (false, begun)
                }
                if isCancelled { continuation.resume(returning: .failure(.cancelled)) }
                if let begun { begin(begun, key, on: executor, resolve) }
            }
        } onCancel: {
            leave(key, waiter)
        }
        if let shared { ConnectionLog.current?.add(shared) }
        return try answer.get()
    }

    /// Starts the task of a resolution. Call this without holding the lock.
    ///
    /// Binding a task-local value locks the running task's status record. A thread that cancels this task holds that
    /// record while it calls ``leave(_:_:)``, which waits for the lock: holding the lock here would deadlock.
    private func begin(
        _ flight: Flight, _ key: Key, on executor: (any TaskExecutor)?,
        _ resolve: @escaping @Sendable (Stopwatch) async -> Answer
    ) {
        // The task works for all waiting callers. It is cancelled when the last of them is cancelled.
        let task = ConnectionLog.$current.withValue(flight.connections) {
            Task(executorPreference: executor) { self.land(key, flight.id, await resolve(flight.stopwatch)) }
        }
        let isWanted = state.withLock { state in
            guard state.flights[key]?.id == flight.id else { return false }
            state.flights[key]?.task = task
            return true
        }
        // In the meantime all callers have left, or the task has already ended.
        if !isWanted { task.cancel() }
    }

    /// An address on the host whose limits the resolution is waiting for; nil if it is not waiting.
    func crowdedPlace(of key: Key) -> WebURL? { state.withLock { $0.flights[key]?.stopwatch }?.waitingFor }

    /// The number of callers waiting for the result, for tests.
    func waiting(for key: Key) -> Int { state.withLock { $0.flights[key]?.waiting.count ?? 0 } }

    private func kept(_ key: Key) -> Answer? {
        state.withLock { state in
            guard let entry = state.answers[key] else { return nil }
            if entry.until > now() { return entry.answer }
            state.answers[key] = nil
            return nil
        }
    }

    private func land(_ key: Key, _ id: UInt64, _ answer: Answer) {
        let lifetime: Duration
        switch answer {
        case .success: lifetime = configuration.keeps
        case .failure(let failure): lifetime = failure.isRetryable ? .zero : min(configuration.keeps, .seconds(30))
        }
        let waiting = state.withLock { state in
            // A resolution that all callers have left may end after a new one for the same key has begun. The new one
            // must stay.
            let flight = state.flights[key]?.id == id ? state.flights.removeValue(forKey: key) : nil
            if lifetime > .zero, answer.urlBytes <= Self.maxBytes { keep(answer, at: key, for: lifetime, in: &state) }
            return flight?.waiting ?? [:]
        }
        for continuation in waiting.values { continuation.resume(returning: answer) }
    }

    private func keep(_ answer: Answer, at key: Key, for lifetime: Duration, in state: inout State) {
        let now = now()
        if state.answers.count >= 1024 {
            state.answers = state.answers.filter { $0.value.until > now }
            if state.answers.count >= 1024 { state.answers.removeAll() }
        }
        state.answers[key] = (answer, now + lifetime)
    }

    private func leave(_ key: Key, _ waiter: UInt64) {
        let (continuation, abandoned) = state.withLock { state in
            let continuation = state.flights[key]?.waiting.removeValue(forKey: waiter)
            let isLast = continuation != nil && state.flights[key]?.waiting.isEmpty == true
            return (continuation, isLast ? state.flights.removeValue(forKey: key)?.task : nil)
        }
        abandoned?.cancel()
        continuation?.resume(returning: .failure(.cancelled))
    }
}

extension Resolutions.Answer {
    /// The size of the addresses in the result, in bytes.
    fileprivate var urlBytes: Int {
        switch self {
        case .success(let output): output.hops.reduce(0) { $0 + $1.url.utf8.count }
        case .failure: 0
        }
    }
}
