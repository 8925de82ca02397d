/// A list that usually has one element, which needs no array.
@frozen
@usableFromInline
package struct Few<Element: Sendable>: Sendable {
    @usableFromInline var first: Element?
    @usableFromInline var others: [Element] = []

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { first == nil && others.isEmpty }

    @inlinable
    package mutating func append(_ element: Element) {
        if first == nil { first = element } else { others.append(element) }
    }

    @inlinable package mutating func popLast() -> Element? { others.popLast() ?? first.take() }

    @inlinable
    package func visit(_ body: (Element) -> Void) {
        if let first { body(first) }
        for other in others { body(other) }
    }

    @inlinable
    package mutating func remove(where isUnwanted: (Element) -> Bool) {
        if let element = first, isUnwanted(element) { first = nil }
        others.removeAll(where: isUnwanted)
    }
}
