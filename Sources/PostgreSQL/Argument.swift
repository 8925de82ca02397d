/// A value for a parameter of a ``Statement``, in the server's binary form.
public struct Argument: Sendable {
    /// Nil for NULL.
    let bytes: [UInt8]?

    /// NULL, of any type.
    public static let null = Argument(bytes: nil)

    /// A `bigint`.
    public static func integer(_ value: Int64?) -> Argument {
        guard let value else { return .null }
        return Argument(bytes: withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }

    /// A `bigint`.
    public static func integer(_ value: Int?) -> Argument { integer(value.map(Int64.init)) }

    /// A `boolean`.
    public static func boolean(_ value: Bool) -> Argument { Argument(bytes: [value ? 1 : 0]) }

    /// A `text`.
    public static func text(_ value: String?) -> Argument { Argument(bytes: value.map { Array($0.utf8) }) }

    /// A `text` that is already UTF-8, or a `bytea`.
    public static func utf8(_ value: [UInt8]?) -> Argument { Argument(bytes: value) }

    /// A `bigint[]`.
    public static func integers(_ values: [Int64]) -> Argument {
        var array = ArrayBytes(element: bigint, count: values.count, hasNulls: false, bytesPerElement: 12)
        for value in values { array.append(value) }
        return Argument(bytes: array.bytes)
    }

    /// A `bigint[]` with NULLs. Empty if all are NULL: a subscript, and `unnest` together with an array of full length,
    /// give the same NULLs at less cost.
    public static func integers(_ values: [Int64?]) -> Argument {
        if values.allSatisfy({ $0 == nil }) { return integers([Int64]()) }
        var array = ArrayBytes(element: bigint, count: values.count, hasNulls: true, bytesPerElement: 12)
        for value in values {
            if let value { array.append(value) } else { array.appendNull() }
        }
        return Argument(bytes: array.bytes)
    }

    /// A `text[]`.
    public static func texts(_ values: [String]) -> Argument {
        utf8s(values.map { Array($0.utf8) })
    }

    /// A `text[]` with NULLs. Empty if all are NULL.
    public static func texts(_ values: [String?]) -> Argument {
        utf8s(values.map { $0.map { Array($0.utf8) } })
    }

    /// A `text[]` whose elements are already UTF-8; nil for NULL. Empty if all are NULL.
    public static func utf8s(_ values: [[UInt8]?]) -> Argument {
        let count = values.allSatisfy { $0 == nil } ? 0 : values.count
        var array = ArrayBytes(element: text, count: count, hasNulls: true, bytesPerElement: 36)
        if count == 0 { return Argument(bytes: array.bytes) }
        for value in values {
            if let value { array.append(value) } else { array.appendNull() }
        }
        return Argument(bytes: array.bytes)
    }

    // The numbers of types in the catalog pg_type.
    private static let bigint: Int32 = 20
    private static let text: Int32 = 25
}

/// The binary form of a one-dimensional array.
private struct ArrayBytes {
    private(set) var bytes: [UInt8] = []

    init(element: Int32, count: Int, hasNulls: Bool, bytesPerElement: Int) {
        bytes.reserveCapacity(20 + count * bytesPerElement)
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(hasNulls ? 1 : 0))
        append(element)
        if count == 0 { return }
        append(Int32(count))
        append(Int32(1))
    }

    private mutating func append(_ value: Int32) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: Int64) {
        append(Int32(8))
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: [UInt8]) {
        append(Int32(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func appendNull() { append(Int32(-1)) }
}
