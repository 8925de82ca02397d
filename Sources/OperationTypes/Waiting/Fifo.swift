/// A first-in, first-out queue. An operation takes constant time, averaged over many.
@frozen
@usableFromInline
package struct Fifo<Element> {
    /// The elements, after `taken` ones that were removed and are nil.
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var taken = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { taken == elements.count }
    @inlinable package var first: Element? { isEmpty ? nil : elements[taken] }

    @inlinable package mutating func append(_ element: Element) { elements.append(element) }

    @inlinable
    package mutating func popFirst() -> Element? {
        if isEmpty { return nil }
        let element = elements[taken].take()
        taken += 1
        if isEmpty {
            elements.removeAll(keepingCapacity: taken < 1024)
            taken = 0
        } else if taken * 2 >= elements.count {
            // Moves at most as many elements as were taken since the last move, so the average cost is constant.
            elements.removeFirst(taken)
            taken = 0
        }
        return element
    }
}

extension Fifo: Sendable where Element: Sendable {}
