import Dispatch
import Synchronization

/// One block of a chain.
///
/// 1. A link waits for its input, then for its turn, then runs, then is finished; it never goes back.
/// 2. A link that is cancelled before it runs finishes as cancelled when its turn comes.
/// 3. A link whose predecessor failed or was cancelled finishes with that error at once.
@usableFromInline
final class Link<In: Sendable, Out: Sendable>: Sendable {
    @usableFromInline typealias Outcome = Result<Out, any Error>

    @usableFromInline
    struct State: Sendable {
        /// Nil once the link runs or can no longer run, so that its captures are released.
        @usableFromInline var block: (@Sendable (In) throws -> Out)?
        @usableFromInline var input: Result<In, any Error>?
        @usableFromInline var outcome: Outcome?
        @usableFromInline var followers: Few<Follower<Out>>
        @usableFromInline var catchers: Few<@Sendable (any Error) -> Void>
        @usableFromInline var waits: Few<DispatchSemaphore>

        @inlinable
        init(_ block: @escaping @Sendable (In) throws -> Out) {
            self.block = block
            input = nil
            outcome = nil
            followers = Few()
            catchers = Few()
            waits = Few()
        }
    }

    @usableFromInline let lane: Lane
    @usableFromInline let delay: Double?
    @usableFromInline let state: Mutex<State>
    /// Whether there is an outcome. Written after the outcome; read without the lock.
    @usableFromInline let isFinished: Atomic<Bool>

    @inlinable
    init(_ lane: Lane, after delay: Double?, _ block: @escaping @Sendable (In) throws -> Out) {
        self.lane = lane
        self.delay = delay.flatMap { $0 > 0 ? $0 : nil }
        state = Mutex(State(block))
        isFinished = Atomic(false)
    }

    @inlinable var outcome: Outcome? { state.withLock { $0.outcome } }
}

// MARK: - Running

extension Link {
    @inlinable
    func receive(_ input: Result<In, any Error>) -> Turn {
        let isSkipped = state.withLock { state in
            state.input = input
            if case .failure = input { return true }
            return state.block == nil && delay == nil
        }
        // SAFETY: A turn calls this with the link it was created with.
        return Turn(self, lane, after: delay, isSkipped: isSkipped) { unsafeDowncast($0, to: Link.self).take(&$1) }
    }

    /// Runs the block, or skips it.
    @inlinable
    func take(_ known: inout Turns) {
        let (input, block) = state.withLock { state in (state.input.take(), state.block.take()) }
        switch (input, block) {
        case (.failure(let error)?, _): finish(.failure(error), &known)
        case (.success(let value)?, let block?):
            let outer = RequestedQoS.enter(lane.qos)
            let outcome = Outcome { try block(value) }
            RequestedQoS.leave(to: outer)
            finish(outcome, &known)
        default: finish(.failure(CancellationError()), &known)
        }
    }

    @inlinable
    func finish(_ outcome: Outcome, _ known: inout Turns) {
        let (followers, catchers, waits) = state.withLock { state in
            defer {
                state.outcome = outcome
                state.followers = Few()
                state.catchers = Few()
                state.waits = Few()
            }
            return (state.followers, state.catchers, state.waits)
        }
        isFinished.store(true, ordering: .releasing)
        waits.visit { $0.signal() }
        if case .failure(let error) = outcome { catchers.visit { lane.call($0, error) } }
        followers.visit { known.append($0.receive($0.link, outcome)) }
    }
}

// MARK: - Attaching

extension Link {
    @inlinable
    func follow<Next>(_ next: Link<Out, Next>) {
        // SAFETY: A follower is called with the link it was created with.
        let follower = Follower<Out>(link: next) { unsafeDowncast($0, to: Link<Out, Next>.self).receive($1) }
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.followers.append(follower) }
            return state.outcome
        }
        if let outcome { next.receive(outcome).begin() }
    }

    @inlinable
    func `catch`(_ catcher: @escaping @Sendable (any Error) -> Void) {
        let outcome = state.withLock { state -> Outcome? in
            if state.outcome == nil { state.catchers.append(catcher) }
            return state.outcome
        }
        if case .failure(let error)? = outcome { lane.call(catcher, error) }
    }

    /// Keeps the block from running, if it has not begun, and releases it.
    @inlinable
    func cancel() {
        let block = state.withLock { state in state.block.take() }
        withExtendedLifetime(block) {}
    }

    @inlinable
    func wait(seconds: Double?) -> DispatchTimeoutResult {
        // Sleeping costs more than most blocks do.
        for _ in 0..<(lane.crew == nil ? 1 : Crew.looks) where isFinished.load(ordering: .acquiring) { return .success }
        let signal = DispatchSemaphore(value: 0)
        let isLate = state.withLock { state in
            if state.outcome == nil { state.waits.append(signal) }
            return state.outcome != nil
        }
        if isLate || Turns.wait(for: signal, seconds: seconds, { outcome != nil }) { return .success }
        state.withLock { $0.waits.remove { $0 === signal } }
        return .timedOut
    }
}
