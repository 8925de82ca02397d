import Dispatch
import Foundation
import OperationTypes
import Synchronization

/// Checks whether code runs on the main thread, or on the main queue if a different thread serves that queue. On Linux
/// that is the case under `dispatchMain()` and in a program whose `main` is `async`.
///
/// The check takes a nanosecond on the main thread; `Thread.isMainThread` takes hundreds on Linux.
@usableFromInline
package enum MainThread {
    /// The main thread's `pthread_self()`; 0 until the main thread has made the check once.
    @usableFromInline static let identity = Atomic<UInt>(0)

    /// A number that identifies this thread.
    @inlinable static var current: UInt { UInt(bitPattern: pthread_self()) }

    /// Whether this is the main thread, or a thread that serves the main queue.
    @inlinable package static var isCurrent: Bool { identity.load(ordering: .relaxed) == current || findOut() }

    @usableFromInline static func findOut() -> Bool {
        if identity.load(ordering: .relaxed) == 0, isOther.value == nil {
            if Thread.isMainThread {
                identity.store(current, ordering: .relaxed)
                return true
            }
            isOther.value = UnsafeMutableRawPointer(bitPattern: 1)
        }
        return DispatchQueue.getSpecific(key: mainQueueMark) != nil
    }

    /// Whether `queue` is the main queue. On Linux several objects represent the main queue, so comparing objects is
    /// not enough.
    @usableFromInline package static func isServed(by queue: DispatchQueue) -> Bool {
        queue.getSpecific(key: mainQueueMark) != nil
    }

    /// Set on threads that are known not to be the main thread.
    private static let isOther = ThreadPointer()

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
