/// A value that one thread gives to another without the compiler's proof that it may.
///
/// The published interfaces take plain closures and values and run them elsewhere; this is the one place where Halyard
/// says so.
///
/// SAFETY: Whoever holds one keeps it under a lock or gives it to exactly one scheduled block, so that the wrapper itself is
/// never raced on. That the content may be used on the other thread is what the caller promised in handing it to an
/// interface that documents it.
@frozen
@usableFromInline
package struct Handoff<Value>: @unchecked Sendable {
    @usableFromInline package let value: Value

    @inlinable
    package init(_ value: Value) { self.value = value }
}

/// The same closure, as one that a queue may run.
///
/// SAFETY: As ``Handoff``. `@Sendable` is no part of a closure's representation, so the cast changes nothing at run time and
/// saves the closure around the closure.
@inlinable
package func handoff(_ work: @escaping () -> Void) -> @Sendable () -> Void {
    unsafeBitCast(work, to: (@Sendable () -> Void).self)
}
