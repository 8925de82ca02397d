import Glibc
import Jobs

/// An ordered queue of messages from any thread to one receiving thread.
///
/// SAFETY: `messages` and `isClosed` are touched only while `mutex` is held. The mutex and the condition variable live
/// as long as `self`.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var messages: [Message] = []
    private var isClosed = false

    package init() {
        // None of these can fail on Linux with these attributes.
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(arrival, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(arrival)
        pthread_mutex_destroy(mutex)
        arrival.deallocate()
        mutex.deallocate()
    }

    /// Adds a message.
    ///
    /// - Returns: False if the mailbox is closed. The message is dropped then.
    package func put(_ message: Message) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if isClosed { return false }
        messages.append(message)
        // The receiver sleeps only while the mailbox is empty.
        if messages.count == 1 { pthread_cond_signal(arrival) }
        return true
    }

    /// Waits for messages as long as `moreWork` allows, and moves all of them to the end of `batch`.
    ///
    /// - Returns: False once the mailbox is closed and empty.
    package func takeAll(into batch: inout [Message], waiting moreWork: MoreWork = .none) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while messages.isEmpty {
            if isClosed { return false }
            switch moreWork {
            case .now: return true
            case .none: pthread_cond_wait(arrival, mutex)
            case .later(let wait): if !waitForArrival(atMost: wait) { return true }
            }
        }
        if batch.isEmpty { swap(&batch, &messages) } else { batch.append(contentsOf: messages) }
        messages.removeAll(keepingCapacity: true)
        return true
    }

    /// Waits for a message on the monotonic clock. On the wall clock, setting the clock back would lengthen the wait
    /// (P8).
    ///
    /// - Returns: False if no message arrived within `wait`.
    private func waitForArrival(atMost wait: Duration) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        // Waiting at least a millisecond keeps rounding from making this a busy loop.
        let milliseconds = max(1, wait.milliseconds)
        end.tv_sec += Int(milliseconds / 1000)
        end.tv_nsec += Int(milliseconds % 1000) * 1_000_000
        if end.tv_nsec >= 1_000_000_000 {
            end.tv_sec += 1
            end.tv_nsec -= 1_000_000_000
        }
        return pthread_cond_timedwait(arrival, mutex, &end) == 0
    }

    /// Accepts no more messages. Messages in the mailbox are still delivered.
    package func close() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        isClosed = true
        pthread_cond_signal(arrival)
    }
}
