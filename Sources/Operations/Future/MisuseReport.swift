import Foundation
import OperationTypes

/// A task or a thread that waits for a result. Reports a leak if nothing is left that could supply the result.
final class MisuseReport: PromiseDependent {
    private let waiting: String
    private let future: Any.Type

    /// - Parameter waiting: The part of the message that names the waiting task or thread.
    init(_ waiting: String, of future: Any.Type) {
        self.waiting = waiting
        self.future = future
    }

    func promiseBroke(_ broken: inout BrokenPromise) { Self.report(waiting, of: "\(future)") }

    static func report(_ waiting: String, of future: String) {
        let message = "FUTURE MISUSE: a promise was released without a result. \(waiting): \(future).\n"
        message.withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
    }
}

/// A task that waits for a future.
extension Waiter: PromiseDependent {
    @usableFromInline
    func promiseBroke(_ broken: inout BrokenPromise) {
        guard !isOver else { return }
        MisuseReport.report(
            "A task waits until it is cancelled", of: (Outcome.self as? any Awaited.Type)?.future ?? "a future")
    }
}

/// A result that can name the type of its future.
private protocol Awaited { static var future: String { get } }

extension Result: Awaited {
    fileprivate static var future: String { "Future<\(Success.self), \(Failure.self)>" }
}
