import Synchronization

/// A clock for tests, whose time passes only when the test advances it.
///
/// Pass it to a retry or a timeout, await ``sleepers(_:)`` until the code under test waits, and call ``advance(by:)``:
///
/// ```swift
/// let clock = ManualClock()
/// let future = Future<Int, any Error>.retry(policy, clock: clock) { request() }
/// await clock.sleepers(1)
/// clock.advance(by: .seconds(1))
/// ```
public final class ManualClock: Clock, Sendable {
    /// A point in time on a manual clock.
    public struct Instant: InstantProtocol {
        /// The time since the clock was created.
        public let offset: Duration

        init(offset: Duration) { self.offset = offset }

        /// The time that is `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from this point to `other`; negative if `other` is earlier.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        public static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private struct Sleeper: Sendable {
        let deadline: Instant
        let waiter: Waiter<Void>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var sleepers: [UInt64: Sleeper] = [:]
        var nextID: UInt64 = 0
        var observers: [(count: Int, waiter: Waiter<Void>)] = []
    }

    private let state = Mutex(State())

    /// A clock that starts at zero.
    public init() {}

    /// The clock's current time. Only ``advance(by:)`` changes it.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: time passes only in the steps of ``advance(by:)``.
    public var minimumResolution: Duration { .zero }

    /// Suspends the task until the clock has been advanced to `deadline`. Returns at once if `deadline` has passed.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let waiter = Waiter<Void>()
        let (id, observers) = state.withLock { state -> (UInt64?, [Waiter<Void>]) in
            guard deadline > state.now else { return (nil, []) }
            state.nextID += 1
            state.sleepers[state.nextID] = Sleeper(deadline: deadline, waiter: waiter)
            let satisfied = state.observers.filter { $0.count <= state.sleepers.count }.map(\.waiter)
            state.observers.removeAll { $0.count <= state.sleepers.count }
            return (state.nextID, satisfied)
        }
        for observer in observers { observer.end(with: ()) }
        guard let id else { return try Task.checkCancellation() }
        // A cancelled sleep is removed at once, so that it is not counted.
        let isOver = await waiter.outcome(onCancel: { state.withLock { $0.sleepers[id] = nil } }) != nil
        if !isOver { throw CancellationError() }
    }

    /// Lets time pass. Sleeps that become due end in the order of their deadlines.
    public func advance(by duration: Duration) {
        let due = state.withLock { state -> [Sleeper] in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers[id] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
        }
        for sleeper in due { sleeper.waiter.end(with: ()) }
    }

    /// Suspends the task until at least `count` sleeps wait for this clock, or until the task is cancelled.
    public func sleepers(_ count: Int) async {
        let waiter = Waiter<Void>()
        let isEnough = state.withLock { state in
            if state.sleepers.count < count { state.observers.append((count, waiter)) }
            return state.sleepers.count >= count
        }
        if !isEnough { await waiter.outcome() }
    }
}
