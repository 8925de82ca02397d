/// Some rows of one table, column by column.
package struct FactBatch: Sendable {
    package let table: Facts
    /// The columns in the order of ``Facts/columns``.
    package private(set) var columns: [Values]
    package private(set) var count = 0
    /// An estimate of the size in bytes.
    package private(set) var bytes = 0

    /// The values of one column: of the two lists, the one for the column's type is filled.
    package struct Values: Sendable {
        package var integers: [Int64?] = []
        package var texts: [[UInt8]?] = []
    }

    /// The number of rows, and about the number of bytes, after which a batch is passed on.
    package static let maxRows = 5000
    package static let maxBytes = 4 << 20

    package init(_ table: Facts) {
        self.table = table
        columns = Array(repeating: Values(), count: table.columns.count)
    }

    package var isFull: Bool { count >= Self.maxRows || bytes >= Self.maxBytes }

    package mutating func append(_ value: Int64?, to column: Int) { columns[column].integers.append(value) }

    package mutating func append(_ value: [UInt8]?, to column: Int) {
        bytes += value?.count ?? 0
        columns[column].texts.append(value)
    }

    /// Notes that every column of a row was appended.
    package mutating func endRow() {
        count += 1
        bytes += 8 * columns.count
    }

    /// The values of a column.
    package subscript(name: String) -> Values {
        guard let index = table.columns.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("\(table) has no column \(name)")
        }
        return columns[index]
    }
}
