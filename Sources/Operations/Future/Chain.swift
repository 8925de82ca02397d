import OperationTypes

/// The resolved settlements that still have handlers to run. The stack is linked through its members, so it allocates
/// nothing.
///
/// When a handler resolves another settlement, that settlement is pushed on this stack, and a loop pops it. No calls
/// are nested, so the thread's stack does not limit the length of a chain of futures. The last settlement pushed is the
/// first one popped, which is also the order of nested calls.
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

    /// Runs all handlers, or leaves them to an outer call on this thread if calls are nested too deep.
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
