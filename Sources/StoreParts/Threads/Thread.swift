import Glibc

/// A thread could not be started; `code` is the `errno`.
package struct ThreadError: Error, Sendable, Hashable {
    package let code: Int32
}

/// Runs `body` on a new thread instead of Swift's shared pool, since `body` blocks on the disk.
///
/// - Parameter name: The name that `top -H` shows, at most 15 bytes.
/// - Throws: ``ThreadError``, if the process has too many threads.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(ThreadError) {
    final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    let start = Unmanaged.passRetained(Start(name, body))
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { argument in
            let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
            nameThread(start.name)
            start.body()
            return nil
        }, start.toOpaque())
    guard code == 0 else {
        start.release()
        throw ThreadError(code: code)
    }
    pthread_detach(thread)
}

/// Names the calling thread, for tools such as `top`. A failure is ignored, since the name has no other use.
private func nameThread(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = write(descriptor, name, name.utf8.count)
    close(descriptor)
}
