#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Releases chains of objects that retain one another, in a loop instead of nested calls. Each object uses this type to
/// release the objects that it retains, and the outermost call on a thread releases them all.
enum Teardown {
    private final class Pending {
        var objects: [AnyObject] = []
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Releases the objects and empties the array, so that the caller no longer retains them.
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
