import OperationTypes

/// Settlements that are resolved and still have handlers to run: a stack linked through its members, so that it allocates
/// nothing.
///
/// A settlement that is resolved in turn goes on this stack, and a loop takes it off, instead of one call inside the other:
/// the length of a chain of futures is not limited by the thread's stack. The last one on is the first one off, so the order is
/// the one that nested calls would have.
@frozen
@usableFromInline
struct Chain {
    @frozen
    @usableFromInline
    struct Link: Sendable {
        @usableFromInline let member: any AnyObject & Sendable
        @usableFromInline let fireNext: @Sendable (AnyObject, inout Chain) -> Void

        @inlinable
        init(member: any AnyObject & Sendable, fireNext: @escaping @Sendable (AnyObject, inout Chain) -> Void) {
            self.member = member
            self.fireNext = fireNext
        }
    }

    @usableFromInline var top: Link?

    @inlinable init() {}

    /// Runs all handlers, or has an outer call on this thread do so if there are too many of those.
    @inlinable
    mutating func fire() {
        guard top != nil else { return }
        if Nesting.enter() {
            while let top { top.fireNext(top.member, &self) }
            Nesting.leave()
        } else {
            postpone()
        }
    }

    @usableFromInline
    mutating func postpone() {
        let rest = self
        top = nil
        Nesting.postpone {
            var chain = rest
            chain.fire()
        }
    }
}
