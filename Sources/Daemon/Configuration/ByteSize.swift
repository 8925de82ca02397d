/// A number of bytes as people write it: `512B`, `64MiB`, `5TiB`. Only binary units are valid, and a unit is
/// required.
struct ByteSize: Hashable, Sendable, CustomStringConvertible {
    var bytes: Int64

    private static let units: [(name: String, size: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]

    init(_ bytes: Int64) { self.bytes = bytes }

    init?(_ text: String) {
        guard let unit = ByteSize.units.first(where: { text.hasSuffix($0.name) }) else { return nil }
        let digits = text.dropLast(unit.name.count).reversed().drop { $0 == " " }.reversed()
        guard let count = Int64(String(digits)), count >= 0 else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: unit.size)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    /// The largest unit that leaves a whole number.
    var description: String {
        let unit = ByteSize.units.first { bytes >= $0.size && bytes % $0.size == 0 } ?? ("B", 1)
        return "\(bytes / unit.size)\(unit.name)"
    }
}
