import Glibc

/// An ordered queue of messages from any thread to one receiving thread.
///
/// SAFETY: `messages` and `isClosed` are touched only while `mutex` is held, and the two cells live as long as `self`.
final class Mailbox<Message: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrival = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var messages: [Message] = []
    private var isClosed = false

    init() {
        // Neither can fail on Linux with default attributes.
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(arrival, nil)
    }

    deinit {
        pthread_cond_destroy(arrival)
        pthread_mutex_destroy(mutex)
        arrival.deallocate()
        mutex.deallocate()
    }

    /// False when the mailbox is closed; the message is then dropped.
    func put(_ message: Message) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if isClosed { return false }
        messages.append(message)
        // The reader sleeps only when there was nothing.
        if messages.count == 1 { pthread_cond_signal(arrival) }
        return true
    }

    /// Waits for messages as long as `moreWork` allows, and moves all of them to the end of `batch`.
    ///
    /// - Returns: False once the mailbox is closed and empty.
    func takeAll(into batch: inout [Message], waiting moreWork: MoreWork = .none) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while messages.isEmpty {
            if isClosed { return false }
            switch moreWork {
            case .now: return true
            case .none: pthread_cond_wait(arrival, mutex)
            case .later: if !waitASecond() { return true }
            }
        }
        if batch.isEmpty { swap(&batch, &messages) } else { batch.append(contentsOf: messages) }
        messages.removeAll(keepingCapacity: true)
        return true
    }

    /// - Returns: False after the full second.
    private func waitASecond() -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += 1
        return pthread_cond_timedwait(arrival, mutex, &end) == 0
    }

    /// Accepts no more messages. Messages in the mailbox are still delivered.
    func close() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        isClosed = true
        pthread_cond_signal(arrival)
    }
}
