import Dispatch
import Operations

/// The turn of a link whose input is known.
///
/// It calls the link through a closure that is specialized for its types; a method of the class would not be
/// specialized.
@usableFromInline
struct Turn: Sendable {
    private let link: any AnyObject & Sendable
    private let lane: Lane
    private let delay: Double?
    /// Whether the link can only be skipped, here and now.
    fileprivate let isSkipped: Bool
    private let take: @Sendable (AnyObject, inout Turns) -> Void

    /// - Parameter take: Runs the block, or skips it, and adds the links whose input is now known.
    @usableFromInline
    init(
        _ link: any AnyObject & Sendable, _ lane: Lane, after delay: Double?, isSkipped: Bool,
        take: @escaping @Sendable (AnyObject, inout Turns) -> Void
    ) {
        self.link = link
        self.lane = lane
        self.delay = delay
        self.isSkipped = isSkipped
        self.take = take
    }

    @usableFromInline
    func begin() {
        if isSkipped { run() } else { schedule() }
    }

    private func schedule() {
        if delay == nil, let crew = lane.crew { crew.add(self) } else { lane.run(after: delay, run) }
    }

    /// Takes the turn of the link and of those that follow it on the same lane, one after the other in a loop.
    func run() {
        var current: Turn? = self
        while let turn = current {
            current = nil
            var known = Turns()
            turn.take(turn.link, &known)
            while let next = known.pop() {
                if next.isSkipped {
                    next.take(next.link, &known)
                } else if current == nil, next.delay == nil, next.lane.continues(turn.lane) {
                    current = next
                } else {
                    next.schedule()
                }
            }
        }
    }
}

/// Links whose turn it is. Usually there is one, which needs no array.
@usableFromInline
struct Turns {
    private var first: Turn?
    private var others: [Turn] = []

    @usableFromInline
    mutating func append(_ turn: Turn) {
        if first == nil { first = turn } else { others.append(turn) }
    }

    fileprivate mutating func pop() -> Turn? { others.popLast() ?? first.take() }

    /// Blocks until `isDone` returns true or the timeout has passed. The code that completes the work must signal
    /// `signal`.
    @usableFromInline
    static func wait(for signal: DispatchSemaphore, seconds: Double?, _ isDone: () -> Bool) -> Bool {
        let deadline = seconds.map { DispatchTime.now() + max($0, 0) } ?? .distantFuture
        return MainInbox.wait(for: signal, deadline: deadline) { isDone() ? () : nil } != nil
    }
}

/// A link as its predecessor sees it, which passes it its input.
@frozen
@usableFromInline
struct Follower<In: Sendable>: Sendable {
    @usableFromInline let link: any AnyObject & Sendable
    /// Receives the link, and the input or the error.
    @usableFromInline let receive: @Sendable (AnyObject, Result<In, any Error>) -> Turn

    @inlinable
    init(
        link: any AnyObject & Sendable, receive: @escaping @Sendable (AnyObject, Result<In, any Error>) -> Turn
    ) {
        self.link = link
        self.receive = receive
    }
}

/// A list that usually has one element, which needs no array.
@frozen
@usableFromInline
struct Few<Element: Sendable>: Sendable {
    @usableFromInline var first: Element?
    @usableFromInline var others: [Element]

    @inlinable
    init() {
        first = nil
        others = []
    }

    @inlinable
    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    @inlinable
    func visit(_ body: (Element) -> Void) {
        if let first { body(first) }
        for other in others { body(other) }
    }

    @inlinable
    mutating func remove(where isUnwanted: (Element) -> Bool) {
        if let element = first, isUnwanted(element) { first = nil }
        others.removeAll(where: isUnwanted)
    }
}
