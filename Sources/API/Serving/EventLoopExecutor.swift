import NIOCore

/// Runs a connection's tasks on the connection's own event loop, so that a small request is read, carried out and answered
/// without changing threads, except for the store's.
///
/// Requests that compute or block for long must choose another executor: while they run, the loop serves no other caller.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
