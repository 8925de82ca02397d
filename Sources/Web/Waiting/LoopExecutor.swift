import NIOCore

/// Runs tasks on one event loop.
///
/// A task that mostly waits for connections of that loop then stays on one thread, since waking another thread costs
/// more than a small request. While such a task computes, the loop's connections wait, so it must not compute for long.
final class LoopExecutor: TaskExecutor {
    let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
