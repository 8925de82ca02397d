import Dispatch

/// Runs a block for each index from 0 to `iterations - 1`, in parallel, once per index. A call returns when all blocks
/// have run.
public struct Apply {
    /// Runs the blocks with the quality of service `userInteractive`.
    public static func userInteractive(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.userInteractive, iterations, block)
    }

    /// Runs the blocks with the quality of service `userInitiated`.
    public static func userInitiated(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.userInitiated, iterations, block)
    }

    /// Runs the blocks with the quality of service `utility`.
    public static func utility(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.utility, iterations, block)
    }

    /// Runs the blocks with the quality of service `background`.
    public static func background(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.background, iterations, block)
    }

    /// Runs the blocks from a block on `queue`, with the quality of service of that queue.
    ///
    /// - Precondition: If `queue` is serial, this is not called from `queue` itself, since the call would wait for
    ///   itself.
    public static func custom(queue: DispatchQueue, iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        let qos = queue.requestedQoS
        Async.custom(queue: queue) { concurrently(qos, iterations, block) }.wait()
    }

    private static func perform(
        _ qos: DispatchQoS.QoSClass, _ iterations: Int, _ block: @escaping @Sendable (Int) -> Void
    ) {
        concurrently(qos.number, iterations, block)
    }

    private static func concurrently(
        _ qos: qos_class_t?, _ iterations: Int, _ block: @escaping @Sendable (Int) -> Void
    ) {
        DispatchQueue.concurrentPerform(iterations: iterations) { index in
            RequestedQoS.with(qos) { block(index) }
        }
    }
}
