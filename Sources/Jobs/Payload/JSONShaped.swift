/// A value with one JSON form, read strictly: an unknown name, a wrong type and a value out of range are refused with
/// the place and the remedy.
///
/// The same reader serves YAML, the control socket, the database and `Codable`.
public protocol JSONShaped: Codable {
    /// - Parameter path: Where `json` stands in the document it is part of; the problem's path begins with it.
    init(json: JSONText, at path: [String]) throws(ShapeProblem)
    var json: JSONText { get }
}

extension JSONShaped {
    public init(json: JSONText) throws(ShapeProblem) { try self.init(json: json, at: []) }

    public init(from decoder: any Decoder) throws {
        let text = try JSONText(from: decoder)
        do throws(ShapeProblem) {
            try self.init(json: text)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error))
        }
    }

    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// Why a JSON value does not have the form that was expected, and where.
public struct ShapeProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Names, and indexes from 0, from the document's top.
    public var path: [String]
    /// One clause that ends with the remedy.
    public var message: String

    public init(path: [String], message: String) {
        self.path = path
        self.message = message
    }

    /// `definitions.upload.retry.attempts: …`
    public var description: String { path.isEmpty ? message : path.joined(separator: ".") + ": " + message }
}
