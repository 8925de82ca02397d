import ControlProtocol
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Jobs

/// The items of a URL's query. The initializer refuses an unknown item and suggests the nearest name.
struct Query {
    private let items: [String: String]

    init(_ request: Request, known: String...) throws(ControlProblem) {
        var items: [String: String] = [:]
        for (name, value) in request.uri.queryParameters {
            let name = String(name)
            guard known.contains(name) else {
                throw ControlProblem(
                    .invalidRequest,
                    "The query is invalid: " + NearestName.unknown("item", name, among: known, listing: "known are")
                        + ".")
            }
            guard items.updateValue(String(value), forKey: name) == nil else {
                throw ControlProblem(.invalidRequest, "The query contains \"\(name)\" twice. Give it once.")
            }
        }
        self.items = items
    }

    subscript(name: String) -> String? { items[name] }

    func flag(_ name: String) throws(ControlProblem) -> Bool {
        switch items[name] {
        case nil, "false"?: return false
        case "true"?, ""?: return true
        case let other?:
            throw ControlProblem(.invalidRequest, "\"\(name)\" must be true or false, not \"\(other)\".")
        }
    }

    func number(_ name: String) throws(ControlProblem) -> Int64? {
        guard let text = items[name] else { return nil }
        guard let number = Int64(text), number > 0 else {
            throw ControlProblem(.invalidRequest, "\"\(name)\" must be a number of at least 1, not \"\(text)\".")
        }
        return number
    }

    func duration(_ name: String, atMost limit: Duration) throws(ControlProblem) -> Duration? {
        guard let text = items[name] else { return nil }
        guard let duration = Duration(human: text), duration <= limit else {
            throw ControlProblem(
                .invalidRequest, "\"\(name)\" must be a duration such as 30s, at most \(limit.human), not \"\(text)\".")
        }
        return duration
    }
}

extension ControlContext {
    /// The number of a job or a graph in the path.
    func number(_ concept: String) throws(ControlProblem) -> Int64 {
        let text = parameters.get("id") ?? ""
        guard let number = Int64(text), number > 0 else {
            throw ControlProblem(.invalidRequest, "\"\(text)\" is not a \(concept) number.")
        }
        return number
    }

    func job() throws(ControlProblem) -> JobID { JobID(try number("job")) }
    func graph() throws(ControlProblem) -> GraphID { GraphID(try number("graph")) }
    var name: String { percentDecoded(parameters.get("name") ?? "") }
}

/// Decodes percent escapes. A percent sign that begins no escape stays unchanged.
private func percentDecoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            // `UInt8(_:radix:)` accepts a sign.
            rest.first != UInt8(ascii: "+"), rest.first != UInt8(ascii: "-"),
            let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(escaped)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
