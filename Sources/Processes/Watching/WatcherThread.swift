import Glibc

/// Runs `body` on a new thread, since it blocks.
///
/// - Returns: 0, or the error number.
package func startThread(_ body: @escaping @Sendable () -> Void) -> Int32 {
    final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let start = Unmanaged.passRetained(Start(body))
    var every = sigset_t()
    var previous = sigset_t()
    sigfillset(&every)
    // The thread inherits the mask, so the program's signal handlers never run on it.
    pthread_sigmask(SIG_SETMASK, &every, &previous)
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { argument in
            Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().body()
            return nil
        }, start.toOpaque())
    pthread_sigmask(SIG_SETMASK, &previous, nil)
    guard code == 0 else {
        start.release()
        return code
    }
    pthread_detach(thread)
    return 0
}
