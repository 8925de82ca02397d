import OperationTypes

/// A kind without its code: what is stored for people, and enough to check definitions, inputs and edges where the code
/// is not linked.
public struct KindDescription: Hashable, Sendable, Codable {
    public var name: String
    public var summary: String
    public var inputType: String
    public var outputType: String
    /// The type it takes from a dependency: nil for none, `[T]` for a list, `AnyOutput` for any.
    public var accepts: String?
    /// The type its output gives to a dependent.
    public var offers: String
    public var fields: [InputField]

    public init(
        name: String, summary: String, inputType: String, outputType: String, accepts: String?, offers: String,
        fields: [InputField]
    ) {
        self.name = name
        self.summary = summary
        self.inputType = inputType
        self.outputType = outputType
        self.accepts = accepts
        self.offers = offers
        self.fields = fields
    }

    enum CodingKeys: String, CodingKey {
        case name, summary, accepts, offers, fields
        case inputType = "input_type"
        case outputType = "output_type"
    }

    /// Whether an output of `dependency` can become part of this kind's input.
    public func accepts(outputOf dependency: KindDescription) -> Bool {
        guard let accepts else { return false }
        return accepts == dependency.offers || accepts == Self.anyOutput || accepts == Self.anyOutputs
            || accepts == "[\(dependency.offers)]"
    }

    private static let anyOutput = nameOfType(AnyOutput.self)
    private static let anyOutputs = nameOfType([AnyOutput].self)
}

extension Kind {
    public static var description: KindDescription {
        KindDescription(
            name: name, summary: summary, inputType: nameOfType(Input.self), outputType: nameOfType(Output.self),
            accepts: Accepted.self == Never.self ? nil : nameOfType(Accepted.self), offers: nameOfType(Offered.self),
            fields: inputFields)
    }
}

/// The type's name without its module: `Unfurl.Output`, `[Link]`.
func nameOfType(_ type: Any.Type) -> String {
    if let list = type as? any AcceptedList.Type { return "[\(list.elementName)]" }
    let qualified = String(reflecting: type)
    guard let dot = qualified.firstIndex(of: ".") else { return qualified }
    return String(qualified[qualified.index(after: dot)...])
}
