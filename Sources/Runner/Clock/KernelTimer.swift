import CTimerFD
import Dispatch
import Glibc

/// A `timerfd` that a thread of libdispatch watches. No thread of Halyard wakes up before it rings.
final class KernelTimer: Sendable {
    private let descriptor: Int32
    // SAFETY: libdispatch allows any thread to use a source.
    nonisolated(unsafe) private let source: any DispatchSourceRead
    private let settime: @Sendable (Int32, Int32, itimerspec) -> Int32
    private let ring: @Sendable () -> Void

    /// Creates a timer that is not set.
    ///
    /// - Parameters:
    ///   - settime: Behaves like timerfd_settime(2). Tests replace it, because they must not set the machine's clock.
    ///   - ring: Called on another thread, never by ``set(_:)`` itself.
    /// - Throws: ``KernelTimerError`` if the process cannot open more files.
    init(
        clock: clockid_t,
        settime: @escaping @Sendable (Int32, Int32, itimerspec) -> Int32 = { descriptor, flags, value in
            withUnsafePointer(to: value) { timerfd_settime(descriptor, flags, $0, nil) }
        },
        ring: @escaping @Sendable () -> Void
    ) throws {
        let descriptor = timerfd_create(clock, Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC))
        guard descriptor >= 0 else { throw KernelTimerError(errorNumber: errno) }
        self.descriptor = descriptor
        self.settime = settime
        self.ring = ring
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
        source.setEventHandler {
            var expirations: UInt64 = 0
            let count = read(descriptor, &expirations, MemoryLayout<UInt64>.size)
            // ECANCELED: the clock was set. EAGAIN: the alarm was moved after it rang.
            if count > 0 || errno == ECANCELED { ring() }
        }
        source.setCancelHandler { _ = close(descriptor) }
        source.activate()
    }

    deinit { source.cancel() }

    func set(_ moment: timespec?) {
        var value = moment ?? timespec()
        // Zero would turn the timer off. The first nanosecond is in the past just as well.
        if moment != nil, value.tv_sec == 0, value.tv_nsec == 0 { value.tv_nsec = 1 }
        let setting = itimerspec(it_interval: timespec(), it_value: value)
        let flags = Int32(TFD_TIMER_ABSTIME) | Int32(TFD_TIMER_CANCEL_ON_SET)
        if settime(descriptor, flags, setting) == 0 { return }
        // The timer is set, but the clock was also set since the last read. The kernel reports that only once, and it
        // did so to this call instead of the next read; see timerfd_create(2), notes on ECANCELED.
        precondition(errno == ECANCELED, "the descriptor is a timer and the time is valid")
        // Rings on another thread, as the event handler does, because the caller may hold a lock that the alarm needs.
        DispatchQueue.global().async(execute: ring)
    }
}

/// No timer could be created, usually because the process has reached its limit of open files.
public struct KernelTimerError: Error, CustomStringConvertible {
    /// The `errno` of timerfd_create(2).
    public let errorNumber: Int32

    public var description: String {
        "a timer could not be opened (\(String(cString: strerror(errorNumber)))); raise LimitNOFILE"
    }
}
