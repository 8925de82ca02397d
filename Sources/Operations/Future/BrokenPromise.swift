import OperationTypes

/// An object that waits for a result that may never come.
@usableFromInline
protocol PromiseDependent: AnyObject, Sendable {
    /// Notes that one object that could have supplied the result is gone. If it was the last, releases the waiting
    /// handlers and adds their targets to `broken`.
    func promiseBroke(_ broken: inout BrokenPromise)
}

/// An object that waits for a result, with a closure that reports the broken promise to it.
///
/// The closure is specialized for the object's type where it is created, which is not possible for a protocol's method.
@frozen
@usableFromInline
struct Dependent: Sendable {
    @usableFromInline let object: any AnyObject & Sendable
    @usableFromInline let promiseBroke: @Sendable (AnyObject, inout BrokenPromise) -> Void

    @inlinable
    init<Object: PromiseDependent>(_ object: Object) {
        self.object = object
        // SAFETY: The closure is called only with `object`.
        promiseBroke = { unsafeDowncast($0, to: Object.self).promiseBroke(&$1) }
    }
}

/// Futures that will never be resolved, and the futures derived from them. A loop releases them, since nested releases
/// of a long chain would overflow the thread's stack.
@frozen
@usableFromInline
struct BrokenPromise {
    @usableFromInline var dependents = Few<Dependent>()

    @inlinable init() {}

    @inlinable
    static func of(_ object: some PromiseDependent) { of(Dependent(object)) }

    @inlinable
    static func of(_ dependent: Dependent?) {
        var broken = BrokenPromise()
        broken.add(dependent)
        broken.release()
    }

    @inlinable
    mutating func add(_ dependent: Dependent?) {
        if let dependent { dependents.append(dependent) }
    }

    /// Reports the broken promise to all dependents now or, if calls are nested too deep, before the outermost call on
    /// this thread returns.
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
        while let dependent = rest.dependents.popLast() { dependent.promiseBroke(dependent.object, &rest) }
    }
}
