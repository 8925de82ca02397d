/// A variable for at most one value of a type that its owner knows. The owner calls ``clear(_:)`` when it goes.
///
/// To destroy a variable whose own type is generic, the deinitializer of a generic class looks that type up at run
/// time, which takes longer than everything else a link does.
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

    /// Whether the value is in the slot itself. Any other value gets memory of its own, since its type may forbid to
    /// move its bytes.
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
