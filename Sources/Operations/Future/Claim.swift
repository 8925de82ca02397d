#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The claim of a waiting task or thread to a result. It reports a leak when nothing is left that could supply the
/// result.
final class Claim: Abandonable {
    private let waiting: String
    private let future: Any.Type
    private let isWaiting: @Sendable () -> Bool

    /// - Parameter waiting: The part of the message that names the waiting task or thread.
    init(_ waiting: String, of future: Any.Type, isWaiting: @escaping @Sendable () -> Bool = { true }) {
        self.waiting = waiting
        self.future = future
        self.isWaiting = isWaiting
    }

    func abandon(_ abandonment: inout Abandonment) {
        guard isWaiting() else { return }
        let message = "FUTURE MISUSE: a promise was released without a result. \(waiting) for \(future).\n"
        message.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
    }
}
