import Foundation

/// A variable that closures on any thread may change; `value += 1` and the like are atomic.
///
/// SAFETY: The content is accessed only with the lock held.
public final class Shared<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var content: Value

    public init(_ value: Value) { content = value }

    public var value: Value {
        get { lock.withLock { content } }
        _modify {
            lock.lock()
            defer { lock.unlock() }
            yield &content
        }
    }
}
