/// A variable for at most one value, whose type its owner knows. The owner must call ``clear(_:)`` before it is
/// deallocated.
///
/// A slot replaces a variable of a generic type. To destroy such a variable, the deinitializer of a generic class looks
/// up the type at run time, which takes longer than everything else a link does.
@frozen
@usableFromInline
struct Slot {
    /// The bytes of the value, or the address of its memory.
    @usableFromInline var words: (UInt, UInt)
    @usableFromInline var isFull: Bool

    @inlinable
    init() {
        words = (0, 0)
        isFull = false
    }

    /// Whether a value of this type is stored in the slot itself. Any other value gets its own memory, since its type
    /// may not permit moving its bytes.
    @inlinable
    static func holds<Value>(_: Value.Type) -> Bool {
        _isPOD(Value.self) && MemoryLayout<Value>.size <= MemoryLayout<(UInt, UInt)>.size
            && MemoryLayout<Value>.alignment <= MemoryLayout<(UInt, UInt)>.alignment
    }

    /// SAFETY: A full slot has the address that `set` has allocated, unless it holds the value itself.
    @inlinable
    func memory<Value>(_: Value.Type) -> UnsafeMutablePointer<Value> {
        UnsafeMutablePointer(bitPattern: words.0).unsafelyUnwrapped
    }

    /// Sets the value of an empty slot.
    @inlinable
    mutating func set<Value>(_ value: Value) {
        if Self.holds(Value.self) {
            withUnsafeMutableBytes(of: &words) { $0.storeBytes(of: value, as: Value.self) }
        } else {
            let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
            memory.initialize(to: value)
            words.0 = UInt(bitPattern: memory)
        }
        isFull = true
    }

    @inlinable
    func value<Value>(_ type: Value.Type) -> Value? {
        guard isFull else { return nil }
        return Self.holds(type) ? withUnsafeBytes(of: words) { $0.load(as: type) } : memory(type).pointee
    }

    @inlinable
    mutating func clear<Value>(_ type: Value.Type) {
        guard isFull else { return }
        isFull = false
        if !Self.holds(type) {
            memory(type).deinitialize(count: 1)
            memory(type).deallocate()
        }
    }
}
