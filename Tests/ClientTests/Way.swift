import Client
import Foundation

/// The ways in which a program may run its exchanges with the daemon.
enum Way: CaseIterable, Sendable {
    /// Concurrently with other tasks.
    case eventLoop
    /// On a blocked thread, like the command line.
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
                    // The thread has finished its work, and a thread loop never returns.
                    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                    fatalError("nobody resumes it")
                }
            }
        }
    }
}
