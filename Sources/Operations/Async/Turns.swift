/// A link whose input is known, waiting for its turn.
protocol Turn: AnyObject, Sendable {
    var lane: Lane { get }
    /// Whether the link can only be skipped, here and now.
    var isSkipped: Bool { get }
    /// Runs the block, or skips it, and adds the links whose input is now known.
    func take(_ known: inout Turns)
    /// Sends the link to its queue, there to take its turn.
    func schedule()
}

/// Links whose turn it is. Usually there is one, which needs no array.
struct Turns {
    private var first: (any Turn)?
    private var others: [any Turn] = []

    mutating func append(_ turn: any Turn) {
        if first == nil { first = turn } else { others.append(turn) }
    }

    mutating func pop() -> (any Turn)? { others.popLast() ?? first.take() }

    /// Takes the turn of a link and of those that follow it on the same lane, one after the other in a loop.
    static func run(_ link: any Turn) {
        var current: (any Turn)? = link
        while let link = current {
            current = nil
            var known = Turns()
            link.take(&known)
            while let next = known.pop() {
                if next.isSkipped {
                    next.take(&known)
                } else if current == nil, next.lane.continues(link.lane) {
                    current = next
                } else {
                    next.schedule()
                }
            }
        }
    }
}

/// A link, seen from the one before, which gives it its input.
protocol Follower<In>: AnyObject, Sendable {
    associatedtype In
    /// Takes the input, or the error, and says whose turn it is.
    func receive(_ input: Result<In, any Error>) -> any Turn
}

/// Usually one, which needs no array.
struct Few<Element> {
    private var first: Element?
    private var others: [Element] = []

    mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    func visit(_ body: (Element) -> Void) {
        if let first { body(first) }
        for other in others { body(other) }
    }

    mutating func remove(where isUnwanted: (Element) -> Bool) {
        if let element = first, isUnwanted(element) { first = nil }
        others.removeAll(where: isUnwanted)
    }
}
