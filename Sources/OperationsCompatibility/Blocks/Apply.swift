import Dispatch

/// Runs a block for each of many indices, in parallel, once per index. A call returns when all blocks have run.
public struct Apply {
    public static func userInteractive(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.userInteractive, iterations, block)
    }

    public static func userInitiated(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.userInitiated, iterations, block)
    }

    public static func utility(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.utility, iterations, block)
    }

    public static func background(_ iterations: Int, block: @escaping @Sendable (Int) -> Void) {
        perform(.background, iterations, block)
    }

    /// - Precondition: Not called from `queue` itself if that is serial, which would wait for itself.
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
