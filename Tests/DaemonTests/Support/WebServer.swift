import Foundation
import Glibc
import Programs
import Synchronization

/// A web server on loopback that answers, or waits until the test lets it.
///
/// `/page/…` answers at once with a small page, `/gate/…` when the gate is opened, `/hop/N` redirects N times, `/status/N/…`
/// answers with that status, `/inbox/…` accepts uploads, `/hang/…` is never answered.
final class WebServer: Sendable {
    let port: UInt16
    /// `GET /page/1`, one line for each request that arrived whole.
    let requests = Lines()
    /// The headers of all requests, for tests that look for what was sent.
    let headers = Lines()
    private let listener: Int32
    private let gate = Gate()
    private let received = Mutex([String: Int]())
    /// Further documents by their path.
    let documents = Mutex<[String: (type: String, content: [UInt8])]>([:])
    /// The answer to each PUT.
    let uploadStatus = Mutex("201 Created")

    /// Bytes that were sent to a path.
    func received(at path: String) -> Int? { received.withLock { $0[path] } }

    var site: String { "http://127.0.0.1:\(port)" }

    private final class Gate: Sendable {
        private let condition = NSCondition()
        private let isOpen = Mutex(false)

        func open() {
            condition.withLock {
                isOpen.withLock { $0 = true }
                condition.broadcast()
            }
        }

        func pass() {
            condition.withLock {
                while !isOpen.withLock({ $0 }) { condition.wait() }
            }
        }
    }

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(listener, name, length) == 0 && listen(listener, 512) == 0
                    && getsockname(listener, name, &length) == 0
            }
        }
        guard isListening else { throw TemporaryFolder.Failure(call: "listen", code: errno) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 && errno == EINTR { continue }
                if connection < 0 { break }
                Thread.detachNewThread { self.serve(connection) }
            }
        }
    }

    /// Lets everybody through, now and later.
    func openGate() { gate.open() }

    /// The accepting thread keeps the server; a test ends it.
    func stop() {
        gate.open()
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var pending: [UInt8] = []
        while let head = readHead(connection, &pending) {
            let lines = head.split(separator: "\r\n")
            let words = lines[0].split(separator: " ")
            let method = String(words[0])
            let path = String(words[1])
            for line in lines.dropFirst() { headers.append(String(line)) }
            var length = 0
            for line in lines where line.lowercased().hasPrefix("content-length:") {
                length = Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) ?? 0
            }
            guard discard(length, connection, &pending) else { return }
            if length > 0 { received.withLock { $0[path] = length } }
            requests.append("\(method) \(path)")
            if path.hasPrefix("/gate/") { gate.pass() }
            // Returns when the other side has closed the connection.
            if path.hasPrefix("/hang/") {
                _ = receive(connection, &pending)
                return
            }
            // Repeats the request, as a server in debug mode does.
            let echo = path.hasPrefix("/echo/") ? lines.dropFirst().joined(separator: "<br>") : ""
            let page = "<!DOCTYPE html><html><head><title>Page \(path)</title></head><body>\(echo)</body></html>"
            let document = method == "PUT" ? nil : documents.withLock { $0[path] }
            let body = document?.content ?? Array(page.utf8)
            let type = document?.type ?? "text/html; charset=utf-8"
            let status =
                path.hasPrefix("/status/")
                ? "\(path.dropFirst(8).prefix { $0 != "/" }) X"
                : method == "PUT"
                    ? uploadStatus.withLock(\.self) : path.hasPrefix("/hop/") ? "302 Found" : "200 OK"
            // `/hop/2` leads to `/hop/1`, and that to a page.
            let next = Int(path.drop { $0 != "?" && !$0.isNumber }.prefix { $0.isNumber }) ?? 0
            let place =
                path.hasPrefix("/hop/") ? "Location: /\(next > 1 ? "hop/\(next - 1)" : "page/1")?token=canary\r\n" : ""
            let answer =
                "HTTP/1.1 \(status)\r\n\(place)Content-Type: \(type)\r\nContent-Length: \(body.count)\r\n\r\n"
            let bytes = Array(answer.utf8) + (method == "HEAD" ? [] : body)
            guard send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
        }
    }

    private func readHead(_ connection: Int32, _ pending: inout [UInt8]) -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = pending.firstRange(of: end) {
                defer { pending.removeSubrange(..<range.upperBound) }
                return String(decoding: pending[..<range.lowerBound], as: UTF8.self)
            }
            guard receive(connection, &pending) else { return nil }
        }
    }

    private func discard(_ count: Int, _ connection: Int32, _ pending: inout [UInt8]) -> Bool {
        var left = count
        while left > 0 {
            if pending.isEmpty, !receive(connection, &pending) { return false }
            let taken = min(left, pending.count)
            pending.removeFirst(taken)
            left -= taken
        }
        return true
    }

    private func receive(_ connection: Int32, _ pending: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            pending += buffer[..<count]
            return true
        }
    }
}
