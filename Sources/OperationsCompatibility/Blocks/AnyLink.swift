import Dispatch
import Operations

/// The part of a link that does not depend on its types.
///
/// SAFETY: `isSkipped` is accessed by one thread after the other; see ``Link``.
@usableFromInline
class AnyLink: @unchecked Sendable {
    @usableFromInline let target: TargetQueue
    @usableFromInline let delay: Double?
    /// Whether the link will be skipped. Skipping needs no queue, so it happens at once.
    @exclusivity(unchecked) @usableFromInline final var isSkipped = false
    /// Runs the block of the link, or skips it, and adds the links whose input is now known. This is a closure, because
    /// the compiler can specialize a closure for the link's types, but not a method.
    private let take: @Sendable (AnyLink, inout Few<AnyLink>) -> Void

    @usableFromInline
    init(_ target: TargetQueue, after delay: Double?, take: @escaping @Sendable (AnyLink, inout Few<AnyLink>) -> Void) {
        self.target = target
        self.delay = delay.flatMap { $0 > 0 ? $0 : nil }
        self.take = take
    }

    /// Starts the link, whose input is known.
    @usableFromInline
    final func begin() {
        if isSkipped { run() } else { schedule() }
    }

    private final func schedule() {
        switch (delay, target) {
        case (nil, .shared(let qos)): WorkerPool.of(qos).add(self)
        case (nil, .custom(let queue)): queue.async { self.run() }
        default: target.run(after: delay) { self.run() }
        }
    }

    /// Runs the link, and then the links that follow it on the same target, one after the other in a loop.
    final func run() {
        var current: AnyLink? = self
        while let link = current {
            current = nil
            var known = Few<AnyLink>()
            link.take(link, &known)
            while let next = known.popLast() {
                if next.isSkipped {
                    next.take(next, &known)
                } else if current == nil, next.delay == nil, next.target.continues(link.target) {
                    current = next
                } else {
                    next.schedule()
                }
            }
        }
    }

    /// Blocks until `isDone` returns true or the timeout has passed. The code that completes the work must signal
    /// `signal`.
    @usableFromInline
    static func wait(for signal: DispatchSemaphore, seconds: Double?, _ isDone: () -> Bool) -> Bool {
        let deadline = seconds.map { DispatchTime.now() + max($0, 0) } ?? .distantFuture
        return MainInbox.wait(for: signal, deadline: deadline) { isDone() ? () : nil } != nil
    }
}

/// A link that follows another link and receives its output.
@frozen
@usableFromInline
struct Follower<In: Sendable>: Sendable {
    @usableFromInline let link: AnyLink
    /// A closure that gets the link, and its input or the error.
    @usableFromInline let receive: @Sendable (AnyLink, Result<In, any Error>) -> Void

    @inlinable
    init(link: AnyLink, receive: @escaping @Sendable (AnyLink, Result<In, any Error>) -> Void) {
        self.link = link
        self.receive = receive
    }
}
