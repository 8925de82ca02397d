import OperationTypes

/// A description of a kind without its code. It is stored for people, and it suffices to check definitions, inputs and
/// edges in programs that are not linked with the code.
public struct KindDescription: Hashable, Sendable, Codable {
    /// The kind's name.
    public var name: String
    /// A description for people, in one sentence.
    public var summary: String
    /// The name of the input type, for messages.
    public var inputType: String
    /// The name of the output type, for messages.
    public var outputType: String
    /// The name of the type that the kind accepts from a dependency: nil for none, `[T]` for a list, `AnyOutput` for
    /// any.
    public var accepts: String?
    /// The name of the type that the kind's output offers to a dependent.
    public var offers: String
    /// All fields of the input; empty if the kind names none, so that any input is accepted.
    public var fields: [InputField]

    /// Creates a description.
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

    /// Whether the output of `dependency` can become part of this kind's input.
    public func accepts(outputOf dependency: KindDescription) -> Bool {
        guard let accepts else { return false }
        return accepts == dependency.offers || accepts == Self.anyOutput || accepts == Self.anyOutputs
            || accepts == "[\(dependency.offers)]"
    }

    package static let anyOutput = nameOfType(AnyOutput.self)
    package static let anyOutputs = nameOfType([AnyOutput].self)
}

extension Kind {
    /// The description of this kind, derived from its types.
    public static var description: KindDescription {
        KindDescription(
            name: name, summary: summary, inputType: nameOfType(Input.self), outputType: nameOfType(Output.self),
            accepts: Accepted.self == Never.self ? nil : nameOfType(Accepted.self), offers: nameOfType(Offered.self),
            fields: inputFields)
    }
}

/// The name of a type without its module, such as `Unfurl.Output` or `[Link]`.
func nameOfType(_ type: Any.Type) -> String {
    if let list = type as? any AcceptedList.Type { return "[\(list.elementName)]" }
    let qualified = String(reflecting: type)
    guard let dot = qualified.firstIndex(of: ".") else { return qualified }
    return String(qualified[qualified.index(after: dot)...])
}
