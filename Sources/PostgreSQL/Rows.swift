import CPostgreSQL

/// The rows of an answer. All of them are in memory.
public final class Rows {
    fileprivate let result: OpaquePointer
    /// The number of rows.
    public let count: Int

    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(halyard_pq_ntuples(result))
    }

    deinit { halyard_pq_clear(result) }

    /// The number of rows that the statement changed, or returned.
    public var changes: Int { Int(String(cString: halyard_pq_cmdTuples(result))) ?? 0 }

    /// The row at this index.
    public subscript(index: Int) -> Row {
        precondition(index >= 0 && index < count, "there is no row \(index)")
        return Row(rows: self, index: Int32(index))
    }

    /// The first row; nil if there is none.
    public var first: Row? { count > 0 ? self[0] : nil }

    /// Returns one value for each row.
    public func map<Value, Failure: Error>(_ body: (Row) throws(Failure) -> Value) throws(Failure) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for index in 0..<count { values.append(try body(self[index])) }
        return values
    }

    /// Calls `body` for each row.
    public func forEach<Failure: Error>(_ body: (Row) throws(Failure) -> Void) throws(Failure) {
        for index in 0..<count { try body(self[index]) }
    }
}

/// One row of an answer. Columns are numbered from 0.
public struct Row {
    fileprivate let rows: Rows
    fileprivate let index: Int32

    private func contents(_ column: Int) -> UnsafeRawBufferPointer? {
        let column = Int32(column)
        if halyard_pq_getisnull(rows.result, index, column) != 0 { return nil }
        return UnsafeRawBufferPointer(
            start: halyard_pq_getvalue(rows.result, index, column),
            count: Int(halyard_pq_getlength(rows.result, index, column)))
    }

    /// Whether the column is NULL.
    public func isNull(_ column: Int) -> Bool { halyard_pq_getisnull(rows.result, index, Int32(column)) != 0 }

    /// A whole number of any width, or a `boolean`; nil for NULL.
    public func optionalInteger(_ column: Int) -> Int64? {
        guard let contents = contents(column) else { return nil }
        precondition(contents.count <= 8, "the column is not a whole number")
        // Numbers are signed and in network order.
        var value: Int64 = contents.first.map { $0 & 0x80 != 0 && contents.count > 1 ? -1 : 0 } ?? 0
        for byte in contents { value = value << 8 | Int64(byte) }
        return value
    }

    /// A whole number of any width, or a `boolean`; 0 for NULL.
    public func integer(_ column: Int) -> Int64 { optionalInteger(column) ?? 0 }

    /// A `boolean`; false for NULL.
    public func boolean(_ column: Int) -> Bool { integer(column) != 0 }

    /// The bytes of a text or a `bytea`; nil for NULL.
    public func bytes(_ column: Int) -> [UInt8]? { contents(column).map { Array($0) } }

    /// A text; nil for NULL.
    public func optionalString(_ column: Int) -> String? {
        contents(column).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A text; empty for NULL.
    public func string(_ column: Int) -> String { optionalString(column) ?? "" }
}
