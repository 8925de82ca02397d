extension Duration {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]

    /// Parses a duration as people write it: `250ms`, `30s`, `5m`, `1h30m`, `2d`. Each part needs a unit: ms, s, m, h
    /// or d.
    ///
    /// Returns nil for any other text, including a bare number, and for a sum beyond `Int64` milliseconds.
    public init?(human text: some StringProtocol) {
        var total: Int64 = 0
        var rest = text[...]
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard let count = Int64(digits) else { return nil }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard let size = Self.units.first(where: { $0.name == unit })?.milliseconds else { return nil }
            let (product, isPartTooLong) = count.multipliedReportingOverflow(by: size)
            let (sum, isSumTooLong) = total.addingReportingOverflow(product)
            guard !isPartTooLong, !isSumTooLong else { return nil }
            total = sum
        }
        self = .milliseconds(total)
    }

    /// The duration in the largest units that fit, such as `1d12h`. ``init(human:)`` parses it to the same number of
    /// milliseconds. A negative duration becomes `0s`.
    public var human: String {
        var rest = max(milliseconds, 0)
        if rest == 0 { return "0s" }
        var text = ""
        for (unit, size) in Self.units {
            if rest >= size { text += "\(rest / size)\(unit)" }
            rest %= size
        }
        return text
    }
}

extension Duration {
    /// The texts that are durations in this range, which is in milliseconds, for messages.
    public static func validText(inMs range: ClosedRange<Int64>) -> String {
        "a number with a unit (ms, s, m, h, d) " + range.phrase { Duration.milliseconds($0).human }
    }
}

/// A duration that is a string in JSON, as people write it: `30s`, `1h30m`.
public struct HumanDuration: Hashable, Sendable, Codable {
    /// The duration.
    public var duration: Duration

    /// Wraps a duration.
    public init(_ duration: Duration) { self.duration = duration }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let duration = Duration(human: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a duration such as 30s")
        }
        self.init(duration)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(duration.human)
    }
}
