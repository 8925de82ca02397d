/// The rank of a job within its queue. A job of higher priority always starts first; ageing raises the priority of a
/// job that waits too long.
public enum Priority: Int, Hashable, Comparable, Sendable, CaseIterable, CustomStringConvertible {
    /// Number -2, name `very_low`.
    case veryLow = -2
    /// Number -1, name `low`.
    case low = -1
    /// Number 0, name `normal`; the default.
    case normal = 0
    /// Number 1, name `high`.
    case high = 1
    /// Number 2, name `very_high`.
    case veryHigh = 2

    public static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }

    /// The name in output and definitions: `very_low`, `low`, `normal`, `high` or `very_high`.
    public var name: String {
        switch self {
        case .veryLow: "very_low"
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        case .veryHigh: "very_high"
        }
    }

    /// Parses a name (`very_high` or `very-high`, in any case) or a number from -2 to 2. Returns nil for anything else.
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
}

extension JSONFields {
    /// Reads a priority, which is a name of ``Priority`` or its number; nil if the field is absent.
    ///
    /// - Throws: ``ShapeProblem`` if the value is not a priority.
    public func priority(_ name: String) throws(ShapeProblem) -> Priority? {
        guard let value = self[name] else { return nil }
        if let number = value.integer, let priority = Int(exactly: number).flatMap(Priority.init(rawValue:)) {
            return priority
        }
        if let text = value.decodedString, let priority = Priority(text) { return priority }
        throw problem(
            name, "expected very_low, low, normal, high or very_high (-2 to 2), found \(Self.found(value))")
    }
}
