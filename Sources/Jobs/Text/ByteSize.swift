/// A number of bytes as people write it: `512B`, `64MiB`, `5TiB`. Only binary units are valid.
///
/// In JSON it is such a string or a whole number of bytes.
public struct ByteSize: Hashable, Sendable, CustomStringConvertible {
    /// The number of bytes.
    public var bytes: Int64

    private static let units: [(name: String, size: Int64)] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
    ]

    /// Creates a size from a number of bytes.
    public init(_ bytes: Int64) { self.bytes = bytes }

    /// Parses a number with a unit. Returns nil for any other text, including a bare number.
    public init?(_ text: String) {
        guard let unit = ByteSize.units.first(where: { text.hasSuffix($0.name) }) else { return nil }
        let digits = text.dropLast(unit.name.count).reversed().drop { $0 == " " }.reversed()
        guard let count = Int64(String(digits)), count >= 0 else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: unit.size)
        guard !overflow else { return nil }
        self.bytes = bytes
    }

    /// The number with the largest unit that leaves a whole number.
    public var description: String {
        let unit = ByteSize.units.first { bytes >= $0.size && bytes % $0.size == 0 } ?? ("B", 1)
        return "\(bytes / unit.size)\(unit.name)"
    }

    /// The texts that are sizes in this range, for messages.
    public static func validText(in range: ClosedRange<Int64>) -> String {
        "a number with a unit (B, KiB, MiB, GiB, TiB) " + range.phrase { ByteSize($0).description }
    }
}

extension ByteSize: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // A value that is not a number is a string, and decoding the string throws if it is neither.
        if let bytes = try? container.decode(Int64.self) {
            self.init(bytes)
            return
        }
        let text = try container.decode(String.self)
        guard let size = ByteSize(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a size such as 100KiB")
        }
        self = size
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension ClosedRange {
    /// The range as the end of a sentence; the largest representable value means that there is no upper bound.
    func phrase(_ text: (Bound) -> String) -> String where Bound: FixedWidthInteger {
        upperBound == .max ? "of at least \(text(lowerBound))" : "from \(text(lowerBound)) to \(text(upperBound))"
    }
}
