import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Runs a program on one thread. Its tasks and its connections share the calling thread, so that a short
/// exchange with the daemon neither starts nor wakes another thread.
///
/// The thread becomes an event loop when the program first needs one, for example for a stream. Until then an
/// exchange blocks the thread, so that a short program does not pay for an event loop.
///
/// Use it in programs that mostly wait for the daemon. Blocking work, such as reading a file, delays the
/// connections.
public final class ThreadLoop: TaskExecutor {
    private enum State {
        case queue(Queue)
        case loop(any EventLoop)
    }

    private struct Queue {
        var jobs: [UnownedJob] = []
        /// Callers of ``eventLoop()``.
        var waiting: [CheckedContinuation<any EventLoop, Never>] = []
    }

    private let state = Mutex(State.queue(Queue()))
    private let thread = pthread_self()
    /// Signalled for each change of the queue.
    ///
    /// SAFETY: Any thread may use a semaphore, and this one is never destroyed.
    private nonisolated(unsafe) let changes = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    private init() { sem_init(changes, 0, 0) }

    /// Runs `body` and its child tasks on the calling thread, except for tasks with another executor. `body`
    /// must end the process.
    public static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        let loop = ThreadLoop()
        // Nobody awaits this task, since `body` ends the process.
        $current.withValue(loop) { _ = Task(executorPreference: loop) { await body() } }
        loop.run()
    }

    /// The loop that runs the current task; nil if none does.
    @TaskLocal static var current: ThreadLoop?

    /// Whether the calling task is the only one that can use the thread now, so that an exchange may block it.
    static var mayBlock: Bool {
        guard let loop = current, pthread_equal(loop.thread, pthread_self()) != 0 else { return false }
        return loop.state.withLock { state in
            guard case .queue(let queue) = state else { return false }
            return queue.jobs.isEmpty && queue.waiting.isEmpty
        }
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if let loop = loop(orQueue: { $0.jobs.append(job) }) { loop.execute { self.run(job) } }
    }

    /// Makes the thread an event loop, if it is not one yet, and returns the loop.
    func eventLoop() async -> any EventLoop {
        await withCheckedContinuation { continuation in
            if let loop = loop(orQueue: { $0.waiting.append(continuation) }) { continuation.resume(returning: loop) }
        }
    }

    /// - Returns: Nil if there is no event loop yet; then `change` was applied to the queue.
    private func loop(orQueue change: (inout Queue) -> Void) -> (any EventLoop)? {
        let loop = state.withLock { state -> (any EventLoop)? in
            switch state {
            case .queue(var queue):
                change(&queue)
                state = .queue(queue)
                return nil
            case .loop(let loop): return loop
            }
        }
        if loop == nil { sem_post(changes) }
        return loop
    }

    private func run(_ job: UnownedJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }

    private func run() -> Never {
        while true {
            // A signal may interrupt the wait; the queue is then empty.
            sem_wait(changes)
            let (job, isLoopNeeded) = state.withLock { state -> (UnownedJob?, Bool) in
                guard case .queue(var queue) = state else { return (nil, false) }
                let job = queue.jobs.isEmpty ? nil : queue.jobs.removeFirst()
                state = .queue(queue)
                return (job, !queue.waiting.isEmpty)
            }
            if let job { run(job) }
            if isLoopNeeded { break }
        }
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            let queue = self.state.withLock { state in
                guard case .queue(let queue) = state else { preconditionFailure("a thread has one event loop") }
                state = .loop(loop)
                return queue
            }
            for job in queue.jobs { loop.execute { self.run(job) } }
            for continuation in queue.waiting { continuation.resume(returning: loop) }
        }
        // The loop is never shut down.
        preconditionFailure("the event loop of the main thread was shut down")
    }
}
