import Dispatch

/// Runs long computations, such as reading or writing much JSON, on a dedicated thread, so that they do not occupy the
/// threads that serve other callers.
package final class BackgroundExecutor: TaskExecutor {
    private let queue: DispatchQueue

    /// Creates an executor with its own dispatch queue of this name.
    package init(named name: String) { queue = DispatchQueue(label: name) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
