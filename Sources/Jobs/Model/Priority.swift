/// A job's place in its queue; higher first, strictly. Ageing lifts a job that waits too long.
public enum Priority: Int, Hashable, Comparable, Sendable, CaseIterable, Codable,
    CustomStringConvertible
{
    case veryLow = -2
    case low = -1
    case normal = 0
    case high = 1
    case veryHigh = 2

    public static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }

    /// `very_low`, `low`, `normal`, `high`, `very_high`.
    public var name: String {
        switch self {
        case .veryLow: "very_low"
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        case .veryHigh: "very_high"
        }
    }

    /// Reads a name (`very_high`, also `very-high`) or its number (`2`).
    public init?(_ text: some StringProtocol) {
        if let number = Int(text) {
            self.init(rawValue: number)
            return
        }
        let name = String(text.map { $0 == "-" || $0 == " " ? "_" : $0 }).lowercased()
        guard let found = Priority.allCases.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    public var description: String { name }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let priority = Priority(name) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "priority is one of very_low, low, normal, high, very_high; found \(name)"
            )
        }
        self = priority
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(name)
    }
}
