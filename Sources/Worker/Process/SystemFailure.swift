import Glibc

/// A system call that failed.
struct SystemFailure: Error, CustomStringConvertible {
    let description: String

    /// - Parameter action: What was tried, such as `start a thread`.
    init(_ action: String, code: Int32 = errno) {
        description =
            "the worker cannot \(action): \(String(cString: strerror(code))); free memory or raise its resource limits"
    }
}
