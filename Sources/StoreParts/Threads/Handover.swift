/// Moves a value that is not Sendable to the thread that will own it.
///
/// SAFETY: the creator does not use the value again, and ``take()`` returns it once.
package final class Handover<Value>: @unchecked Sendable {
    private var value: Value?

    package init(_ value: Value) { self.value = value }

    package func take() -> Value {
        guard let value else { preconditionFailure("a value is taken out only once") }
        self.value = nil
        return value
    }
}
