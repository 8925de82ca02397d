import ControlProtocol
import NIOHTTP1

extension Call {
    /// The maximum length of a path with its query. The daemon's HTTP parser refuses a head of more than 80 KiB
    /// without giving a reason.
    static let maxAddressBytes = 64 << 10

    private var fields: [(name: String, value: String)] {
        var fields = [(name: "Host", value: "localhost")]
        if let body {
            fields += [("Content-Type", contentType), ("Content-Length", String(body.count))]
        } else if method == .post || method == .put || method == .patch {
            fields.append(("Content-Length", "0"))
        }
        return fields
    }

    var head: HTTPRequestHead {
        HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: method.rawValue), uri: target, headers: HTTPHeaders(fields))
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
