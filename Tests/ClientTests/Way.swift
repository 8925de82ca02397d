import Client
import Foundation

/// How a program runs its exchanges with the daemon.
enum Way: CaseIterable, Sendable {
    /// Together with other tasks.
    case eventLoop
    /// As the command line does.
    case threadLoop

    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        guard self == .threadLoop else { return try await body() }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                ThreadLoop.run {
                    do {
                        continuation.resume(returning: try await body())
                    } catch {
                        continuation.resume(throwing: error)
                    }
                    // The thread has nothing more to do, and a thread loop never ends.
                    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                    fatalError("nobody resumes it")
                }
            }
        }
    }
}
