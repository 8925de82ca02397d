import OperationTypes

/// An object that waits for a result that may never come.
@usableFromInline
protocol Abandonable: AnyObject, Sendable {
    /// Notes that one object that could have supplied the result is gone. If it was the last, releases the waiting
    /// handlers and adds their targets to `abandonment`.
    func abandon(_ abandonment: inout Abandonment)
}

/// An object that waits for a result, with a closure that abandons it.
///
/// The closure is specialized for the object's type where it is created, which is not possible for a protocol's method.
@frozen
@usableFromInline
struct Dependent: Sendable {
    @usableFromInline let object: any AnyObject & Sendable
    @usableFromInline let abandon: @Sendable (AnyObject, inout Abandonment) -> Void

    @inlinable
    init<Object: Abandonable>(_ object: Object) {
        self.object = object
        // SAFETY: The closure is called only with `object`.
        abandon = { unsafeDowncast($0, to: Object.self).abandon(&$1) }
    }
}

/// Futures that will never be resolved, and the futures derived from them. A loop releases them, since nested releases
/// of a long chain would overflow the thread's stack.
@frozen
@usableFromInline
struct Abandonment {
    @usableFromInline var dependents = Few<Dependent>()

    @inlinable init() {}

    @inlinable
    static func of(_ object: some Abandonable) { of(Dependent(object)) }

    @inlinable
    static func of(_ dependent: Dependent?) {
        var abandonment = Abandonment()
        abandonment.add(dependent)
        abandonment.release()
    }

    @inlinable
    mutating func add(_ dependent: Dependent?) {
        if let dependent { dependents.append(dependent) }
    }

    /// Abandons all dependents now or, if calls are nested too deep, before the outermost call on this thread returns.
    @usableFromInline
    func release() {
        guard !dependents.isEmpty else { return }
        if Nesting.enter() {
            releaseAll()
            Nesting.leave()
        } else {
            Nesting.postpone { releaseAll() }
        }
    }

    private func releaseAll() {
        var rest = self
        while let dependent = rest.dependents.popLast() { dependent.abandon(dependent.object, &rest) }
    }
}
