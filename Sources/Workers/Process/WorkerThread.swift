import Glibc

/// A thread that serves one process. It blocks in poll(2), so it must not occupy a thread of Swift's pool.
enum WorkerThread {
    /// Starts a thread that runs `body` and then ends. The process cannot create it only if the machine lacks memory or
    /// a limit on threads is reached; the caller is told by the `errno`.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, 1 << 20)
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Body(body))
        let code = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
                body.run()
                return nil
            }, box.toOpaque())
        if code != 0 { box.release() }
        return code
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
