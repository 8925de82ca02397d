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
        let task: Task<Answer, Never>
        var waiting: Int
    }

    private struct State {
        var answers: [Key: (answer: Answer, until: ContinuousClock.Instant)] = [:]
        var flights: [Key: Flight] = [:]
    }

    private let state = Mutex(State())
    private let configuration: UnfurlConfiguration

    init(_ configuration: UnfurlConfiguration) { self.configuration = configuration }

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
            // Awaited by everybody who asked; cancelled when the last of them is.
            let task = Task {
                let answer = await resolve()
                self.land(key, answer)
                return answer
            }
            state.flights[key] = Flight(task: task, waiting: 1)
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

    private func kept(_ key: Key) -> Answer? {
        state.withLock { state in
            guard let entry = state.answers[key] else { return nil }
            if entry.until > .now { return entry.answer }
            state.answers[key] = nil
            return nil
        }
    }

    private func land(_ key: Key, _ answer: Answer) {
        let lifetime: Duration
        switch answer {
        case .success: lifetime = configuration.keeps
        case .failure(let failure): lifetime = failure.isRetryable ? .zero : min(configuration.keeps, .seconds(30))
        }
        state.withLock { state in
            state.flights[key] = nil
            guard lifetime > .zero else { return }
            if state.answers.count >= 1024 {
                let now = ContinuousClock.now
                state.answers = state.answers.filter { $0.value.until > now }
                if state.answers.count >= 1024 { state.answers.removeAll() }
            }
            state.answers[key] = (answer, .now + lifetime)
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
