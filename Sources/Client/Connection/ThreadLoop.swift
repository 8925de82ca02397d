import NIOCore
import NIOPosix

/// Runs a program on one thread: its tasks and its connections take turns on the calling thread, so that a short exchange
/// with the daemon neither starts nor wakes another thread.
///
/// Use it in programs that mostly wait for the daemon. Blocking work, such as reading a file, delays the connections.
public enum ThreadLoop {
    /// Turns the calling thread into an event loop that runs `body` and its child tasks, except those with another executor.
    public static func run(_ body: @escaping @Sendable () async -> Never) -> Never {
        MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
            let executor = EventLoopExecutor(loop)
            // Nobody awaits it, since `body` ends the process.
            Task(executorPreference: executor) { await body() }
        }
        // No code shuts this loop down.
        preconditionFailure("the event loop of the main thread was shut down")
    }

    /// The calling thread's event loop; nil if it is not one.
    static var current: (any EventLoop)? { MultiThreadedEventLoopGroup.currentEventLoop }
}

private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
