#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Limits how deep calls of user closures nest on one thread, so that code that calls back into itself does not
/// overflow the stack.
///
/// Up to a depth of ``limit``, closures run inline. Deeper ones are postponed, and run in the order in which they were
/// postponed, before the outermost call on this thread returns.
@usableFromInline
package enum Nesting {
    /// Small enough for unoptimized frames on a stack of 512 KiB.
    private static let limit = 64

    private struct Level {
        var depth = 0
        var postponed: [() -> Void] = []
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { level in
            // `level` is optional on some platforms.
            guard let level = (level as UnsafeMutableRawPointer?)?.assumingMemoryBound(to: Level.self) else { return }
            level.deinitialize(count: 1)
            level.deallocate()
        }
        return key
    }()

    /// The level of this thread. It is a pointer, because an object would be retained and released in every call.
    private static var level: UnsafeMutablePointer<Level> {
        if let level = pthread_getspecific(key) { return level.assumingMemoryBound(to: Level.self) }
        let level = UnsafeMutablePointer<Level>.allocate(capacity: 1)
        level.initialize(to: Level())
        pthread_setspecific(key, level)
        return level
    }

    /// Whether a closure may run inline. If true, call ``leave()`` after it; if false, call ``postpone(_:)``.
    @usableFromInline
    package static func enter() -> Bool {
        let level = level
        guard level.pointee.depth < limit else { return false }
        level.pointee.depth += 1
        return true
    }

    /// Ends the call that ``enter()`` began. The outermost call runs the postponed closures first.
    @usableFromInline
    package static func leave() {
        let level = level
        if level.pointee.depth == 1, !level.pointee.postponed.isEmpty { runPostponed(level) }
        level.pointee.depth -= 1
    }

    /// Postpones a closure until the outermost call on this thread is about to return.
    @usableFromInline
    package static func postpone(_ work: @escaping () -> Void) { level.pointee.postponed.append(work) }

    /// Runs `body`, which may block, as an outermost call. Postponed closures run first, since `body` may wait for
    /// them.
    package static func restart<Value>(_ body: () -> Value) -> Value {
        let level = level
        let depth = level.pointee.depth
        level.pointee.depth = 1
        runPostponed(level)
        level.pointee.depth = 0
        defer { level.pointee.depth = depth }
        return body()
    }

    private static func runPostponed(_ level: UnsafeMutablePointer<Level>) {
        while !level.pointee.postponed.isEmpty {
            let works = level.pointee.postponed
            level.pointee.postponed = []
            for work in works { work() }
        }
    }
}
