import Jobs
import OperationTypes
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
        var waiting: [Waiter<Answer>] = []
    }

    private struct State {
        var answers = ExpiringCache<Key, Answer, ContinuousClock.Instant>(capacity: 1024)
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
        if let known = state.withLock({ $0.answers.value(of: key, at: now()) }) { return try known.get() }
        if Task.isCancelled { throw .cancelled }
        let waiter = Waiter<Answer>()
        let log = ConnectionLog.current.map { ConnectionLog(now: $0.now) }
        let (begun, shared) = state.withLock { state -> (Flight?, ConnectionLog?) in
            var begun: Flight?
            if state.flights[key] == nil {
                state.lastID += 1
                begun = Flight(id: state.lastID, connections: log, stopwatch: Stopwatch())
                state.flights[key] = begun
            }
            state.flights[key]?.waiting.append(waiter)
            return (begun, state.flights[key]?.connections)
        }
        if let begun { begin(begun, key, on: executor, resolve) }
        let answer = await waiter.outcome { leave(key, waiter) } ?? .failure(.cancelled)
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
            let now = now()
            if lifetime > .zero, answer.urlBytes <= Self.maxBytes {
                state.answers.keep(answer, of: key, until: now + lifetime, now: now)
            }
            return flight?.waiting ?? []
        }
        for waiter in waiting { waiter.end(with: answer) }
    }

    private func leave(_ key: Key, _ waiter: Waiter<Answer>) {
        let abandoned = state.withLock { state -> Task<Void, Never>? in
            guard let index = state.flights[key]?.waiting.firstIndex(where: { $0 === waiter }) else { return nil }
            state.flights[key]?.waiting.remove(at: index)
            let isLast = state.flights[key]?.waiting.isEmpty == true
            return isLast ? state.flights.removeValue(forKey: key)?.task : nil
        }
        abandoned?.cancel()
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
