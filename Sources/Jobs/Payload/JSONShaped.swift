/// A value with exactly one JSON form, which is parsed strictly. An unknown name, a wrong type or a value out of range
/// is refused, and the error contains the path and the remedy.
///
/// YAML documents, the control socket and the database all use this parser.
public protocol JSONShaped {
    /// Parses a value.
    ///
    /// - Parameter path: The path of `json` in its document; the path of a problem begins with it.
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    init(json: JSONText, at path: [String]) throws(ShapeProblem)
    /// The JSON form of the value, which ``init(json:at:)`` parses to an equal value.
    var json: JSONText { get }
}

extension JSONShaped {
    /// Parses a value that is a complete document.
    ///
    /// - Throws: ``ShapeProblem`` with the path and the remedy.
    public init(json: JSONText) throws(ShapeProblem) { try self.init(json: json, at: []) }
}

/// The reason why a JSON value does not have the expected form, and its path.
public struct ShapeProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Field names, and array indexes from 0, from the root of the document.
    public var path: [String]
    /// One clause that ends with the remedy.
    public var message: String

    /// Creates a problem.
    public init(path: [String], message: String) {
        self.path = path
        self.message = message
    }

    /// The path and the message, such as `definitions.upload.retry.tries: …`.
    public var description: String { path.isEmpty ? message : path.joined(separator: ".") + ": " + message }
}
