import Synchronization

/// What links resolved to lately, and who is resolving one right now: many jobs for one link ask its server once.
///
/// Failures that a retry may help are not kept.
final class Resolutions: Sendable {
    struct Key: Hashable, Sendable {
        var url: String
        var limit: Int
        var readsPage: Bool
    }

    typealias Answer = Result<Unfurl.Output, KindFailure>

    private struct Flight {
        let id: UInt64
        let task: Task<Answer, Never>
        var waiting: Int
    }

    private struct State {
        var answers: [Key: (answer: Answer, until: ContinuousClock.Instant)] = [:]
        var flights: [Key: Flight] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())
    private let configuration: UnfurlConfiguration
    private let now: @Sendable () -> ContinuousClock.Instant

    init(
        _ configuration: UnfurlConfiguration, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.configuration = configuration
        self.now = now
    }

    func answer(
        _ key: Key, resolve: @escaping @Sendable () async -> Answer
    ) async throws(KindFailure) -> Unfurl.Output {
        if let known = kept(key) { return try known.get() }
        let task = state.withLock { state -> Task<Answer, Never> in
            if var flight = state.flights[key] {
                flight.waiting += 1
                state.flights[key] = flight
                return flight.task
            }
            state.lastID += 1
            let id = state.lastID
            // Awaited by everybody who asked; cancelled when the last of them is.
            let task = Task {
                let answer = await resolve()
                self.land(key, id, answer)
                return answer
            }
            state.flights[key] = Flight(id: id, task: task, waiting: 1)
            return task
        }
        let answer = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            self.abandon(key, task)
        }
        if Task.isCancelled { throw .cancelled }
        return try answer.get()
    }

    /// How many wait for the answer that is being found, for tests.
    func waiting(for key: Key) -> Int { state.withLock { $0.flights[key]?.waiting ?? 0 } }

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
        state.withLock { state in
            // One that everybody left may end after the next one has begun.
            if state.flights[key]?.id == id { state.flights[key] = nil }
            guard lifetime > .zero else { return }
            if state.answers.count >= 1024 {
                let now = now()
                state.answers = state.answers.filter { $0.value.until > now }
                if state.answers.count >= 1024 { state.answers.removeAll() }
            }
            state.answers[key] = (answer, now() + lifetime)
        }
    }

    private func abandon(_ key: Key, _ task: Task<Answer, Never>) {
        let isLast = state.withLock { state in
            guard var flight = state.flights[key], flight.task == task else { return false }
            flight.waiting -= 1
            state.flights[key] = flight.waiting == 0 ? nil : flight
            return flight.waiting == 0
        }
        if isLast { task.cancel() }
    }
}
