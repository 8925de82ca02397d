/// The name of an element or attribute packed into one number: its letters in lower case if they fit into eight bytes,
/// otherwise a hash.
struct HTMLName: Hashable, Sendable, ExpressibleByStringLiteral {
    private let packed: UInt64

    init(_ bytes: some Sequence<UInt8>) {
        var value: UInt64 = 0
        var count = 0
        for byte in bytes {
            let lower = UInt64((0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
            value = count < 8 ? value << 8 | lower : (value ^ lower) &* 0x100_0000_01B3 | 1 << 63
            count += 1
        }
        packed = value
    }

    /// Packs a name in lower case. It is inlined so that the optimizer can turn the name into a constant.
    @inline(__always) init(stringLiteral text: StaticString) {
        var value: UInt64 = 0
        for index in 0..<text.utf8CodeUnitCount {
            let byte = UInt64(text.utf8Start[index])
            value = index < 8 ? value << 8 | byte : (value ^ byte) &* 0x100_0000_01B3 | 1 << 63
        }
        packed = value
    }
}
