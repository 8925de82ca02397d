import Jobs
import Synchronization

/// The recent answers for links, and the resolutions that are running now, so that many jobs for one link send one
/// request.
///
/// Failures that a retry may solve are not kept.
final class Resolutions: Sendable {
    struct Key: Hashable, Sendable {
        var url: String
        var limit: Int
        var readsPage: Bool
        /// The time limit. A caller with a long limit does not join a resolution with a short one.
        var timeout: Duration
    }

    typealias Answer = Result<Unfurl.Output, KindFailure>

    private struct Flight {
        let id: UInt64
        /// Nil until the task is created, outside of the lock.
        var task: Task<Void, Never>?
        /// The connections of the resolution, which all waiting callers record.
        let connections: ConnectionLog?
        let stopwatch: Stopwatch
        var waiting: [UInt64: CheckedContinuation<Answer, Never>] = [:]
    }

    private struct State {
        var answers: [Key: (answer: Answer, until: ContinuousClock.Instant)] = [:]
        var flights: [Key: Flight] = [:]
        var lastID: UInt64 = 0
    }

    /// The size of all addresses of one answer above which the answer is not kept.
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

    /// - Parameter executor: Where it is resolved, if it is not known and nobody resolves it yet.
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

    /// Creates the task outside of the lock. Binding a task-local value locks the running task's record, which a thread that
    /// cancels this task holds while it calls ``leave(_:_:)`` and waits for the lock of the state.
    private func begin(
        _ flight: Flight, _ key: Key, on executor: (any TaskExecutor)?,
        _ resolve: @escaping @Sendable (Stopwatch) async -> Answer
    ) {
        // The task resolves the link for all waiting callers. It is cancelled when the last of them is.
        let task = ConnectionLog.$current.withValue(flight.connections) {
            Task(executorPreference: executor) { self.land(key, flight.id, await resolve(flight.stopwatch)) }
        }
        let isWanted = state.withLock { state in
            guard state.flights[key]?.id == flight.id else { return false }
            state.flights[key]?.task = task
            return true
        }
        // All callers have left meanwhile, or the task has ended already.
        if !isWanted { task.cancel() }
    }

    /// The address of the host for whose limits the resolution waits.
    func crowdedPlace(of key: Key) -> WebURL? { state.withLock { $0.flights[key]?.stopwatch }?.waitingFor }

    /// The number of callers that wait for the answer, for tests.
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
            // A resolution that all callers have left may end after the next one has begun.
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
    /// The size of the answer's addresses.
    fileprivate var urlBytes: Int {
        switch self {
        case .success(let output): output.hops.reduce(0) { $0 + $1.url.utf8.count }
        case .failure: 0
        }
    }
}
