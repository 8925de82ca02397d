/// A change to ``QueueSettings/limitPerDaemon``, written as a whole number or as `none`.
public enum DaemonLimit: Hashable, Sendable {
    /// Removes the limit.
    case unlimited
    /// Sets the limit; the number is not checked.
    case atMost(Int)

    /// The new limit; nil for none.
    public var number: Int? {
        switch self {
        case .unlimited: nil
        case .atMost(let number): number
        }
    }

    /// The word for no limit.
    public static let unlimitedName = "none"

    /// Parses a whole number or `none`; nil if the text is neither.
    public init?(text: String) {
        if text == Self.unlimitedName {
            self = .unlimited
        } else if let number = Int(text) {
            self = .atMost(number)
        } else {
            return nil
        }
    }

    /// Parses a whole number or the string `none`.
    ///
    /// - Throws: ``ShapeProblem`` if the value is neither.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        if let number = json.integer.flatMap({ Int(exactly: $0) }) {
            self = .atMost(number)
        } else if json.decodedString == Self.unlimitedName {
            self = .unlimited
        } else {
            throw ShapeProblem(
                path: path, message: "expected a whole number, or none for no limit, found \(JSONFields.found(json))")
        }
    }
}
