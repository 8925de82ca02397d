import Dispatch
import OperationTypes
import Synchronization

/// A link whose input is known, waiting for its turn.
protocol Turn: AnyObject, Sendable {
    var lane: Lane { get }
    /// Runs the block, or skips it, and returns the links whose input is now known.
    func take() -> [any Turn]
    /// Whether the link can only be skipped, here and now.
    var isSkipped: Bool { get }
    /// Sends the link to its queue, there to ``take()`` its turn.
    func schedule()
}

/// One block of a chain.
///
/// 1. A link goes from waiting for its input, over waiting for its turn and running, to finished; never back.
/// 2. A link that is cancelled before it runs finishes as cancelled when its turn comes.
/// 3. One whose predecessor failed, or was cancelled, finishes with that error at once.
final class Link<In, Out>: Turn {
    typealias Outcome = Result<Out, any Error>

    /// SAFETY: Exists only inside the mutex below.
    private struct State: @unchecked Sendable {
        /// Nil once the link runs or can no longer run: what it captures is not kept longer.
        var block: ((In) throws -> Out)?
        var input: Result<In, any Error>?
        var outcome: Outcome?
        var followers: [(Outcome) -> any Turn] = []
        var catchers: [(any Error) -> Void] = []
        var waits: [DispatchSemaphore] = []
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

    func begin(with input: In) {
        let input = Handoff(input)
        state.withLock { $0.input = .success(input.value) }
        schedule()
    }

    func schedule() {
        lane.run(after: delay) { Link.drive(self) }
    }

    /// Takes the turn of a link and of those that follow it on the same lane, one after the other in a loop.
    private static func drive(_ first: any Turn) {
        var current: (any Turn)? = first
        while let link = current {
            current = nil
            var known = link.take()
            while let next = known.popLast() {
                if next.isSkipped {
                    known += next.take()
                } else if current == nil, next.lane.continues(link.lane) {
                    current = next
                } else {
                    next.schedule()
                }
            }
        }
    }

    var isSkipped: Bool {
        state.withLock { state in
            if case .failure? = state.input { return true }
            return state.block == nil && delay == nil
        }
    }

    func take() -> [any Turn] {
        let (input, block) = state.withLock { state in
            defer {
                state.input = nil
                state.block = nil
            }
            return (state.input, state.block)
        }
        switch (input, block) {
        case (.failure(let error)?, _): return finish(.failure(error))
        case (.success(let value)?, let block?):
            return finish(RequestedQoS.with(lane.qos) { Outcome { try block(value) } })
        default: return finish(.failure(CancellationError()))
        }
    }

    private func finish(_ outcome: Outcome) -> [any Turn] {
        let ended = state.withLock { state in
            defer {
                state.followers = []
                state.catchers = []
                state.waits = []
            }
            state.outcome = outcome
            return state
        }
        for wait in ended.waits { wait.signal() }
        if case .failure(let error) = outcome {
            for catcher in ended.catchers { call(catcher, error) }
        }
        return ended.followers.reversed().map { $0(outcome) }
    }

    // MARK: Attaching

    func follow<Next>(_ link: Link<Out, Next>) {
        let follower = { (outcome: Outcome) -> any Turn in
            link.state.withLock { $0.input = outcome }
            return link
        }
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.followers.append(follower) }
            return state.outcome
        }
        guard let outcome else { return }
        let next = follower(outcome)
        if next.isSkipped { _ = next.take() } else { next.schedule() }
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
        let signal = DispatchSemaphore(value: 0)
        let isFinished = state.withLock { state in
            if state.outcome == nil { state.waits.append(signal) }
            return state.outcome != nil
        }
        if isFinished { return .success }
        let deadline = seconds.map { DispatchTime.now() + max($0, 0) } ?? .distantFuture
        if MainInbox.wait(for: signal, deadline: deadline, { outcome }) != nil { return .success }
        state.withLock { state in state.waits.removeAll { $0 === signal } }
        return .timedOut
    }
}
