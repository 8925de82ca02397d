import NIOCore

/// Runs tasks on one event loop.
///
/// A task that mostly waits for connections of that loop then never changes threads: waking another thread costs more
/// than a small request. What such a task computes holds up the loop's connections, so it must be short.
final class LoopExecutor: TaskExecutor {
    let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
