import Jobs

/// One request to the daemon.
public struct Call: Sendable {
    /// The methods that the daemon's routes use.
    public enum Method: String, Sendable {
        case get = "GET", put = "PUT", post = "POST", patch = "PATCH", delete = "DELETE"
    }

    package var method: Method
    package var path: String
    package var query: [(name: String, value: String)] = []
    package var contentType = "application/json"
    package var body: [UInt8]?
    /// Whether repeating the call has no further effect.
    package var isRepeatable = true
    /// Whether the client added a key that the caller does not know, so that only the client can safely repeat the
    /// call.
    package var hasHiddenKey = false
    /// The time that the daemon may take in addition to the usual limit.
    package var extraTime = Duration.zero

    package init(_ method: Method, _ segments: String...) {
        self.method = method
        path = "/v1" + segments.map { "/" + percentEncoded($0) }.joined()
    }

    package func with(_ json: JSONText) -> Call {
        var call = self
        call.body = json.bytes
        return call
    }

    package func with(query: (name: String, value: String)...) -> Call {
        var call = self
        call.query += query
        return call
    }

    /// The path with its query.
    package var target: String {
        var target = path
        for (index, item) in query.enumerated() {
            target += "\(index == 0 ? "?" : "&")\(percentEncoded(item.name))=\(percentEncoded(item.value))"
        }
        return target
    }
}

/// Percent-encodes the bytes that are neither unreserved in a URL nor in `kept`.
package func percentEncoded(_ text: String, keeping kept: String = "") -> String {
    var result = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            result.unicodeScalars.append(Unicode.Scalar(byte))
        case _ where "-_.~".utf8.contains(byte) || kept.utf8.contains(byte):
            result.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let digits = Array("0123456789ABCDEF".unicodeScalars)
            result.unicodeScalars.append(contentsOf: ["%", digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }
    }
    return result
}

extension WireValue {
    /// Decodes the value of a response.
    ///
    /// - Throws: ``ControlProblem`` if the daemon is of another release.
    package init(response body: [UInt8]) throws(ControlProblem) {
        do {
            try self.init(json: JSONText(trusted: body))
        } catch {
            throw ControlProblem(
                .internal,
                "The daemon's response is invalid (\(error)). Use halyard and halyardd of the same release.")
        }
    }
}
