import Glibc

/// A list of C strings that ends with a null pointer, as `execve` takes it.
struct StringVector: ~Copyable {
    private let pointers: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>

    /// Nil if memory is short. No text may contain a NUL byte.
    init?(_ texts: [String]) {
        pointers = .allocate(capacity: texts.count + 1)
        pointers.initialize(repeating: nil)
        for (index, text) in texts.enumerated() { pointers[index] = strdup(text) }
        guard pointers.dropLast().allSatisfy({ $0 != nil }) else { return nil }
    }

    deinit {
        for pointer in pointers { free(pointer) }
        pointers.deallocate()
    }

    var address: UnsafePointer<UnsafeMutablePointer<CChar>?> { UnsafePointer(pointers.baseAddress!) }
}
