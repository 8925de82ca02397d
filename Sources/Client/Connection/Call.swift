import ControlProtocol
import Jobs
import NIOHTTP1

/// One request to the daemon.
struct Call: Sendable {
    var method: HTTPMethod
    var path: String
    var query: [(name: String, value: String)] = []
    var contentType = "application/json"
    var body: [UInt8]?
    /// Whether repeating the call has no further effect.
    var isRepeatable = true
    /// Whether the client added a key that the caller does not know, so that only the client can safely repeat the
    /// call.
    var hasHiddenKey = false
    /// The time that the daemon may take in addition to the usual limit.
    var extraTime = Duration.zero

    /// The maximum length of a path with its query. The daemon's HTTP parser refuses a head of more than 80 KiB
    /// without giving a reason.
    static let maxAddressBytes = 64 << 10

    init(_ method: HTTPMethod, _ segments: String...) {
        self.method = method
        path = "/v1" + segments.map { "/" + percentEncoded($0) }.joined()
    }

    func with(_ json: JSONText) -> Call {
        var call = self
        call.body = json.bytes
        return call
    }

    func with(query: (name: String, value: String)...) -> Call {
        var call = self
        call.query += query
        return call
    }

    /// The path with its query.
    var target: String {
        var target = path
        for (index, item) in query.enumerated() {
            target += "\(index == 0 ? "?" : "&")\(percentEncoded(item.name))=\(percentEncoded(item.value))"
        }
        return target
    }

    private var fields: [(name: String, value: String)] {
        var fields = [(name: "Host", value: "localhost")]
        if let body {
            fields += [("Content-Type", contentType), ("Content-Length", String(body.count))]
        } else if method == .POST || method == .PUT || method == .PATCH {
            fields.append(("Content-Length", "0"))
        }
        return fields
    }

    var head: HTTPRequestHead {
        HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: HTTPHeaders(fields))
    }

    /// The bytes of the whole request. The head cannot contain further line breaks, since the path and the
    /// query are encoded.
    var bytes: [UInt8] {
        var text = "\(method.rawValue) \(target) HTTP/1.1\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        text += "\r\n"
        return Array(text.utf8) + (body ?? [])
    }
}

private func percentEncoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "~"):
            result.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let digits = Array("0123456789ABCDEF".unicodeScalars)
            result.unicodeScalars.append(contentsOf: ["%", digits[Int(byte >> 4)], digits[Int(byte & 15)]])
        }
    }
    return result
}
