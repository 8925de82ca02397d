/// Promises that are resolved and still have handlers to run: a stack linked through its members, so that it allocates
/// nothing.
///
/// What a resolved promise resolves in turn goes on this stack, and a loop takes it off, instead of one call inside the
/// other: the length of a chain of futures is not limited by the thread's stack. The last one on is the first one off, so
/// the order is the one that nested calls would have.
@frozen
@usableFromInline
struct Chain {
    @usableFromInline
    typealias Link = (member: AnyObject, fireNext: (AnyObject, inout Chain) -> Void)

    @usableFromInline var top: Link?

    @inlinable init() {}

    @inlinable
    mutating func fire() {
        while let top { top.fireNext(top.member, &self) }
    }
}

/// Something that holds handlers whose result may never come.
@usableFromInline
protocol Abandonable: AnyObject {
    /// Releases what waits for this, and hands over what nobody else holds.
    func abandon(into remains: inout Remains)
}

/// What is left of a chain of futures that nobody will resolve. A loop takes it apart: released one inside the other, a
/// long chain would overflow the thread's stack.
@usableFromInline
struct Remains {
    private var members: [any Abandonable] = []

    init() {}

    /// Releases `target`, in the loop if this is its last reference.
    mutating func take(_ target: inout AnyObject?) {
        if isKnownUniquelyReferenced(&target), let member = target as? any Abandonable { members.append(member) }
        target = nil
    }

    mutating func release() {
        while let member = members.popLast() { member.abandon(into: &self) }
    }
}
