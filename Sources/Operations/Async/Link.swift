import Dispatch
import OperationTypes
import Synchronization

/// One block of a chain.
///
/// 1. A link goes from waiting for its input, over waiting for its turn and running, to finished; never back.
/// 2. A link that is cancelled before it runs finishes as cancelled when its turn comes.
/// 3. One whose predecessor failed, or was cancelled, finishes with that error at once.
final class Link<In, Out>: Follower, Turn {
    typealias Outcome = Result<Out, any Error>

    /// SAFETY: Exists only inside the mutex below.
    private struct State: @unchecked Sendable {
        /// Nil once the link runs or can no longer run: what it captures is not kept longer.
        var block: ((In) throws -> Out)?
        var input: Result<In, any Error>?
        var outcome: Outcome?
        var followers = Few<any Follower<Out>>()
        var catchers = Few<(any Error) -> Void>()
        var waits = Few<DispatchSemaphore>()
    }

    let lane: Lane
    private let delay: Double?
    private let state: Mutex<State>

    init(_ lane: Lane, after delay: Double?, _ block: @escaping (In) throws -> Out) {
        self.lane = lane
        self.delay = delay
        state = Mutex(State(block: block))
    }

    var outcome: Outcome? { state.withLock { $0.outcome } }

    // MARK: Running

    func receive(_ input: Result<In, any Error>) -> any Turn {
        state.withLock { $0.input = input }
        return self
    }

    func schedule() {
        lane.run(after: delay) { Turns.run(self) }
    }

    var isSkipped: Bool {
        state.withLock { state in
            if case .failure? = state.input { return true }
            return state.block == nil && delay == nil
        }
    }

    func take(_ known: inout Turns) {
        let (input, block) = state.withLock { state in
            defer {
                state.input = nil
                state.block = nil
            }
            return (state.input, state.block)
        }
        switch (input, block) {
        case (.failure(let error)?, _): finish(.failure(error), &known)
        case (.success(let value)?, let block?):
            finish(RequestedQoS.with(lane.qos) { Outcome { try block(value) } }, &known)
        default: finish(.failure(CancellationError()), &known)
        }
    }

    private func finish(_ outcome: Outcome, _ known: inout Turns) {
        let (followers, catchers, waits) = state.withLock { state in
            defer {
                state.outcome = outcome
                state.followers = Few()
                state.catchers = Few()
                state.waits = Few()
            }
            return (state.followers, state.catchers, state.waits)
        }
        waits.visit { $0.signal() }
        if case .failure(let error) = outcome { catchers.visit { call($0, error) } }
        followers.visit { known.append($0.receive(outcome)) }
    }

    // MARK: Attaching

    func follow(_ follower: any Follower<Out>) {
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.followers.append(follower) }
            return state.outcome
        }
        guard let outcome else { return }
        let turn = follower.receive(outcome)
        if turn.isSkipped { Turns.run(turn) } else { turn.schedule() }
    }

    func `catch`(_ catcher: @escaping (any Error) -> Void) {
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.catchers.append(catcher) }
            return state.outcome
        }
        if case .failure(let error)? = outcome { call(catcher, error) }
    }

    private func call(_ catcher: @escaping (any Error) -> Void, _ error: any Error) {
        let qos = lane.qos
        lane.run(after: nil, handoff { RequestedQoS.with(qos) { catcher(error) } })
    }

    /// Keeps the block from running, if it has not begun, and releases it.
    func cancel() {
        let block = state.withLock { state in Handoff(state.block.take()) }
        withExtendedLifetime(block) {}
    }

    func wait(seconds: Double?) -> DispatchTimeoutResult {
        if outcome != nil { return .success }
        let signal = DispatchSemaphore(value: 0)
        state.withLock { state in
            if state.outcome == nil { state.waits.append(signal) } else { signal.signal() }
        }
        let deadline = seconds.map { DispatchTime.now() + max($0, 0) } ?? .distantFuture
        let isFinished = MainInbox.wait(for: signal, deadline: deadline, { outcome }) != nil
        if !isFinished { state.withLock { $0.waits.remove { $0 === signal } } }
        return isFinished ? .success : .timedOut
    }
}
