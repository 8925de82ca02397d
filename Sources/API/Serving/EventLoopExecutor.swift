import NIOCore

/// Runs a connection's tasks on the connection's own event loop. Except in the store, a small request then
/// stays on one thread from reading to answering.
///
/// Requests that compute or block for long must choose another executor, since they would delay all other
/// callers on the loop.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
