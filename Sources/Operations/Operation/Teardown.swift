import OperationTypes

/// Releases chains of objects that retain one another, in a loop instead of nested calls. Each object uses this type to
/// release the objects that it retains, and the outermost call on a thread releases them all.
enum Teardown {
    private final class Pending {
        var objects: [AnyObject] = []
    }

    private static let pending = ThreadPointer()

    /// Releases the objects and empties the array, so that the caller no longer retains them.
    static func release<Object: AnyObject>(_ objects: inout [Object]) {
        if let current = pending.value {
            Unmanaged<Pending>.fromOpaque(current).takeUnretainedValue().objects += objects
            objects = []
            return
        }
        let own = Pending()
        own.objects = objects
        objects = []
        pending.value = Unmanaged.passUnretained(own).toOpaque()
        while own.objects.popLast() != nil {}
        pending.value = nil
    }
}
