#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Releases objects that hold one another, in a loop: each releases its own through here, and the first call on a thread
/// does it for all.
enum Teardown {
    private final class Pending {
        var objects: [AnyObject] = []
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Takes the objects out of the array, so that the caller does not hold them any more.
    static func release<Object: AnyObject>(_ objects: inout [Object]) {
        if let current = pthread_getspecific(key) {
            Unmanaged<Pending>.fromOpaque(current).takeUnretainedValue().objects += objects
            objects = []
            return
        }
        let pending = Pending()
        pending.objects = objects
        objects = []
        pthread_setspecific(key, Unmanaged.passUnretained(pending).toOpaque())
        while pending.objects.popLast() != nil {}
        pthread_setspecific(key, nil)
    }
}
