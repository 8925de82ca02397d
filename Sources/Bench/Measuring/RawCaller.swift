import Foundation

/// A blocking connection to the daemon's socket.
final class RawCaller: Sendable {
    private let descriptor: Int32

    init(_ path: String, sending text: String = "") throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard code == 0 else { throw BenchError("cannot connect to \(path): \(String(cString: strerror(errno)))") }
        send(text)
    }

    /// The text of a request.
    static func request(
        _ method: String, _ path: String, _ body: String? = nil, type: String? = nil, closes: Bool = false
    ) -> String {
        let fields = [
            "Host: a", type.map { "Content-Type: \($0)" }, body.map { "Content-Length: \($0.utf8.count)" },
            closes ? "Connection: close" : nil,
        ]
        let head = ["\(method) \(path) HTTP/1.1"] + fields.compactMap(\.self)
        return head.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
    }

    deinit { close(descriptor) }

    private func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // The daemon has closed the connection. The next read reports that.
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    private func receive() throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw BenchError("recv: \(String(cString: strerror(errno)))") }
        return Array(buffer[..<count])
    }

    @discardableResult
    func readToEnd() throws -> Int {
        var total = 0
        while true {
            let bytes = try receive()
            if bytes.isEmpty { return total }
            total += bytes.count
        }
    }

    /// Reads an answer that ends with the connection, and returns its status.
    func readStatus() throws -> Int {
        let head = String(decoding: try receive().prefix(12), as: UTF8.self)
        try readToEnd()
        return Int(head.suffix(3)) ?? 0
    }

    /// Sends a request, reads an answer of known length, and returns its status.
    func exchange(_ request: String) throws -> Int {
        send(request)
        var answer: [UInt8] = []
        while true {
            let bytes = try receive()
            if bytes.isEmpty { throw BenchError("the daemon closed the connection") }
            answer += bytes
            let text = String(decoding: answer, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { continue }
            let head = text[..<end.lowerBound].lowercased()
            let length = head.range(of: "content-length: ").flatMap {
                Int(head[$0.upperBound...].prefix { $0.isNumber })
            }
            guard answer.count >= text[..<end.upperBound].utf8.count + (length ?? 0) else { continue }
            return Int(head.dropFirst(9).prefix(3)) ?? 0
        }
    }
}
