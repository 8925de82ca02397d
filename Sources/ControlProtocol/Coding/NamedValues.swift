import Jobs

/// A type whose values are encoded in JSON by name.
protocol NamedWireValue: WireValue, CaseIterable {
    /// The name in JSON.
    var name: String { get }
    /// The word for such a value in messages, for example "state".
    static var concept: String { get }
}

extension NamedWireValue {
    init(exactName name: String) throws(ShapeProblem) {
        guard let value = Self.allCases.first(where: { $0.name == name }) else {
            throw ShapeProblem(
                NearestName.unknown(
                    Self.concept, name, among: Self.allCases.map(\.name), listing: "it must be one of"))
        }
        self = value
    }

    public init(json: JSONText) throws(ShapeProblem) {
        guard let name = json.decodedString else {
            throw ShapeProblem("expected the name of a \(Self.concept), found \(json.shape.phrase)")
        }
        try self.init(exactName: name)
    }

    public func write(to writer: inout JSONWriter) { name.write(to: &writer) }
}

extension NamedWireValue where Self: RawRepresentable<String> {
    var name: String { rawValue }
}

extension JobState: NamedWireValue { static var concept: String { "state" } }
extension Outcome: NamedWireValue { static var concept: String { "outcome" } }
extension AttemptOutcome: NamedWireValue { static var concept: String { "outcome" } }
extension DependencyCondition: NamedWireValue { static var concept: String { "condition" } }
extension StatusReport.State: NamedWireValue { static var concept: String { "state" } }
extension DefinitionLine.Change: NamedWireValue { static var concept: String { "change" } }

extension InputField.Shape: NamedWireValue {
    public static var allCases: [Self] { [.string, .integer, .number, .boolean, .object, .array, .size, .duration] }
    static var concept: String { "shape" }

    /// Reads the name of a shape that only a later release knows as ``any``.
    public init(json: JSONText) throws(ShapeProblem) {
        guard let name = json.decodedString else {
            throw ShapeProblem("expected the name of a \(Self.concept), found \(json.shape.phrase)")
        }
        self = Self(rawValue: name) ?? .any
    }
}

extension JobFilter.Order: NamedWireValue {
    public static var allCases: [Self] { [.newestFirst, .oldestFirst] }
    static var concept: String { "order" }
    var name: String { self == .newestFirst ? "newest_first" : "oldest_first" }
}

/// Encoded as its name, such as `very_high`. Its number is also accepted.
extension Priority: NamedWireValue {
    static var concept: String { "priority" }

    public init(json: JSONText) throws(ShapeProblem) {
        if let number = json.integer, let raw = Int(exactly: number), let priority = Priority(rawValue: raw) {
            self = priority
            return
        }
        guard let name = json.decodedString else {
            throw ShapeProblem("expected a priority: very_low, low, normal, high, very_high, or -2 to 2")
        }
        if let priority = Priority(name) { self = priority } else { try self.init(exactName: name) }
    }
}
