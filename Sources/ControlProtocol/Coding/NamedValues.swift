import Jobs

/// A type whose values are encoded in JSON by name.
protocol NamedWireValue: WireValue, CaseIterable {
    /// The name in JSON.
    var wireName: String { get }
    /// The word for such a value in messages, for example "state".
    static var wireConcept: String { get }
}

extension NamedWireValue {
    init(wireName: String) throws(ShapeProblem) {
        guard let value = Self.allCases.first(where: { $0.wireName == wireName }) else {
            throw ShapeProblem(
                NearestName.unknown(
                    Self.wireConcept, wireName, among: Self.allCases.map(\.wireName), listing: "it must be one of"))
        }
        self = value
    }

    public init(json: JSONText) throws(ShapeProblem) {
        guard let name = json.decodedString else {
            throw ShapeProblem("expected the name of a \(Self.wireConcept), found \(json.shape.phrase)")
        }
        try self.init(wireName: name)
    }

    public func appendJSON(to bytes: inout [UInt8]) { wireName.appendJSON(to: &bytes) }
}

extension NamedWireValue where Self: RawRepresentable, RawValue == String {
    var wireName: String { rawValue }
}

extension JobState: NamedWireValue {
    var wireName: String { name }
    static var wireConcept: String { "state" }
}

extension Outcome: NamedWireValue {
    var wireName: String { name }
    static var wireConcept: String { "outcome" }
}

extension AttemptOutcome: NamedWireValue {
    var wireName: String { name }
    static var wireConcept: String { "outcome" }
}

extension DependencyCondition: NamedWireValue {
    var wireName: String { name }
    static var wireConcept: String { "condition" }
}

extension JobFilter.Order: NamedWireValue {
    public static var allCases: [Self] { [.newestFirst, .oldestFirst] }
    var wireName: String {
        switch self {
        case .newestFirst: "newest_first"
        case .oldestFirst: "oldest_first"
        }
    }
    static var wireConcept: String { "order" }
}

extension StatusReport.State: NamedWireValue {
    static var wireConcept: String { "state" }
}

extension DefinitionLine.Change: NamedWireValue {
    static var wireConcept: String { "change" }
}

extension InputField.Shape: NamedWireValue {
    public static var allCases: [Self] { [.string, .integer, .number, .boolean, .object, .array] }
    static var wireConcept: String { "shape" }
}

/// Encoded as its name, such as `very_high`. Its number is also accepted.
extension Priority: NamedWireValue {
    var wireName: String { name }
    static var wireConcept: String { "priority" }

    public init(json: JSONText) throws(ShapeProblem) {
        if let number = json.integer, let raw = Int(exactly: number), let priority = Priority(rawValue: raw) {
            self = priority
            return
        }
        guard let name = json.decodedString else {
            throw ShapeProblem("expected a priority: very_low, low, normal, high, very_high, or -2 to 2")
        }
        if let priority = Priority(name) { self = priority } else { try self.init(wireName: name) }
    }
}
