import Testing

@testable import Pages

/// Generates PDFs with two pages, a title and an author.
enum MadePDF {
    static let halfMebibyte = 512 << 10
    static let objects = [
        1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Count 2/Kids[]>>", 3: "<</Title(T)/Author(A)>>",
    ]
    static let withMetadata = "<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>"

    /// A file with the standard objects and a cross-reference table. `objects` replaces those with the same number.
    static func file(_ objects: [Int: String] = [:], trailer: String = "") -> [UInt8] {
        let (bytes, table) = withTable(objects, trailer: trailer)
        return bytes + Array("startxref\n\(table)\n".utf8)
    }

    /// A file up to its table.
    ///
    /// - Parameter trailer: Keys of the trailer, in which `{table}` represents the table's offset.
    static func withTable(
        _ objects: [Int: String] = [:], trailer: String = ""
    ) -> (bytes: [UInt8], table: Int) {
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows = ""
        for (number, object) in Self.objects.merging(objects, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key })
        {
            rows += "\(number) 1\n\(bytes.count) 0 n\n"
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        let keys = trailer.replacing("{table}", with: "\(bytes.count)")
        return (bytes + Array("xref\n\(rows)trailer<</Root 1 0 R/Info 3 0 R\(keys)>>\n".utf8), bytes.count)
    }

    static func stream(_ dictionary: String, _ data: [UInt8]) -> [UInt8] {
        Array("<<\(dictionary)/Length \(data.count)>>stream\n".utf8) + data + Array("\nendstream endobj\n".utf8)
    }

    /// A file with a cross-reference stream.
    ///
    /// - Parameters:
    ///   - packed: The objects in object streams, each with the number of its stream.
    ///   - index: The `Index` of the cross-reference stream; nil for the correct one.
    static func withCrossReferenceStream(
        _ objects: [Int: String] = [:], packed: [Int: Int] = [:], index: String? = nil, widths: String = "[1 3 1]"
    ) -> [UInt8] {
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows = packed.mapValues { [2, 0, UInt8($0 >> 8), UInt8($0 & 255), 0] }
        for (number, object) in Self.objects.merging(objects, uniquingKeysWith: { $1 }) where packed[number] == nil {
            rows[number] = row(bytes.count)
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        return withCrossReferenceStream(bytes, rows, index: index, widths: widths)
    }

    static func withCrossReferenceStream(
        _ bytes: [UInt8], _ rows: [Int: [UInt8]], index: String? = nil, widths: String = "[1 3 1]"
    ) -> [UInt8] {
        let index = index ?? "[\(rows.keys.sorted().map { "\($0) 1" }.joined(separator: " "))]"
        let keys = "/Type/XRef/Size 9999/Index\(index)/W \(widths)/Root 1 0 R/Info 3 0 R"
        return bytes + Array("9999 0 obj".utf8) + stream(keys, rows.sorted { $0.key < $1.key }.flatMap(\.value))
            + Array("startxref\n\(bytes.count)\n".utf8)
    }

    static func row(_ place: Int) -> [UInt8] {
        [1, UInt8(place >> 16 & 255), UInt8(place >> 8 & 255), UInt8(place & 255), 0]
    }

    /// A file whose objects cannot be located is still a PDF, but has no metadata.
    static func expectNoMetadata(_ bytes: [UInt8]) {
        #expect(PDFFacts.read(bytes) == PDFFacts())
    }

    /// Counts the work instead of measuring time. Each byte of a file dense with values counts about 20.
    static func expectLinearWork(_ bytes: [UInt8]) {
        var budget = PDFBudget(for: bytes.count)
        #expect(PDFFacts.read(bytes, &budget) != nil)
        #expect(budget.work <= 40 * bytes.count)
    }
}
