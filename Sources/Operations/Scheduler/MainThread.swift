import Dispatch
import Foundation
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tells whether code runs on the main thread, or on the main queue where that has a thread of its own, as it has on Linux
/// under `dispatchMain()` and in a program whose `main` is `async`.
///
/// It takes a nanosecond on the main thread; `Thread.isMainThread` takes hundreds on Linux.
@usableFromInline
package enum MainThread {
    /// The main thread's `pthread_self()`, once it has asked; 0 before.
    @usableFromInline static let identity = Atomic<UInt>(0)

    /// A number for the thread that asks.
    @inlinable static var current: UInt { UInt(bitPattern: pthread_self()) }

    @inlinable package static var isCurrent: Bool { identity.load(ordering: .relaxed) == current || findOut() }

    @usableFromInline static func findOut() -> Bool {
        if identity.load(ordering: .relaxed) == 0, pthread_getspecific(asked) == nil {
            if Thread.isMainThread {
                identity.store(current, ordering: .relaxed)
                return true
            }
            pthread_setspecific(asked, UnsafeRawPointer(bitPattern: 1))
        }
        return DispatchQueue.getSpecific(key: mainQueueMark) != nil
    }

    /// Whether `queue` is the main queue, of which there is no one object on Linux.
    @usableFromInline package static func isServed(by queue: DispatchQueue) -> Bool {
        queue.getSpecific(key: mainQueueMark) != nil
    }

    /// Set on threads that are known not to be the main thread.
    private static let asked: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private static let mainQueueMark: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()
}

#if canImport(Glibc) || canImport(Musl)
    extension UInt {
        @inlinable init(bitPattern thread: pthread_t) { self = UInt(thread) }
    }
#endif
