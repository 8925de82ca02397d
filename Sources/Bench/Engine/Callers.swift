import Foundation
import Synchronization

/// Measures how long a caller with small requests waits while others load the daemon. Every ten milliseconds it
/// enqueues a job and reads one; the limit applies to the 99th percentile.
func measureCallers() throws -> [Row] {
    let daemon = try BenchDaemon()
    defer { daemon.stop() }
    try daemon.fill(jobs: 10_000)
    var rows: [Row] = []
    func measure(_ name: String, _ load: @escaping @Sendable () throws -> Void) throws {
        let waits = try goodCaller(daemon.socket, while: load)
        let p99 = waits.percentile(0.99)
        rows.append(
            Row(
                name: "p99 beside \(name)", ratio: nil, ours: p99, baseline: nil, unit: "ms", limit: "≤ 100",
                holds: p99 <= 100))
    }
    let socket = daemon.socket
    try measure("nothing") { usleep(3_000_000) }
    try measure("641 half-open connections") {
        let peers = try (0..<641).map { _ in try RawCaller(socket, sending: "GET /v1/sta") }
        usleep(3_000_000)
        withExtendedLifetime(peers) {}
    }
    let listing = "GET /v1/jobs?limit=10000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    let before = try daemon.residentMegabytes()
    var most = before
    try measure("40 callers that do not read") {
        let peers = try (0..<40).map { _ in try RawCaller(socket, sending: listing) }
        usleep(3_000_000)
        withExtendedLifetime(peers) {}
    }
    most = max(most, try daemon.residentMegabytes())
    try measure("16 callers that list 10,000 jobs") {
        try concurrently(16) {
            for _ in 0..<3 { try RawCaller(socket, sending: listing).readToEnd() }
        }
    }
    most = max(most, try daemon.residentMegabytes())
    rows.append(
        Row(
            name: "memory for answers", ratio: nil, ours: most - before, baseline: nil, unit: "MB",
            limit: "≤ 40", holds: most - before <= 40))
    try measure("enqueueing a graph of 100,000") { try daemon.enqueueGraph(failing: false) }
    try measure("cancelling it") { try daemon.post("/v1/graphs/1/cancel") }
    try measure("a failure that skips 100,000 jobs") {
        try daemon.enqueueGraph(failing: true)
        try daemon.awaitGraph(2)
    }
    try measure("pruning 200,000 jobs") {
        try daemon.post("/v1/prune", #"{"finished_before":"2100-01-01T00:00:00.000Z"}"#)
    }
    // The daemon returns freed memory a second after such requests.
    usleep(3_000_000)
    rows.append(
        Row(
            name: "resident memory after all that", ratio: nil, ours: try daemon.residentMegabytes(), baseline: nil,
            unit: "MB", limit: "-", holds: true))
    return rows
}

/// The waits, in milliseconds, of a caller with small requests until the load has ended.
private func goodCaller(_ socket: String, while load: @escaping @Sendable () throws -> Void) throws -> [Double] {
    let isOver = Atomic(false)
    let failure = Mutex<(any Error)?>(nil)
    let loader = Thread {
        do { try load() } catch { failure.withLock { $0 = error } }
        isOver.store(true, ordering: .releasing)
    }
    loader.stackSize = 1 << 20
    loader.start()
    var waits: [Double] = []
    let caller = try RawCaller(socket)
    let body = #"{"definition":"unfurl","input":{"url":"https://example.com/"},"in_ms":36000000}"#
    while !isOver.load(ordering: .acquiring) {
        for request in [
            "POST /v1/jobs HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
            "GET /v1/jobs/1 HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            let start = ContinuousClock.now
            guard try caller.exchange(request) < 300 else { throw BenchError("the good caller was refused") }
            waits.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        usleep(10_000)
    }
    if let error = failure.withLock(\.self) { throw error }
    return waits
}

private func concurrently(_ count: Int, _ body: @escaping @Sendable () throws -> Void) throws {
    let failure = Mutex<(any Error)?>(nil)
    let group = DispatchGroup()
    for _ in 0..<count {
        group.enter()
        Thread.detachNewThread {
            do { try body() } catch { failure.withLock { $0 = error } }
            group.leave()
        }
    }
    group.wait()
    if let error = failure.withLock(\.self) { throw error }
}

/// A blocking connection to the daemon's socket.
private final class RawCaller: Sendable {
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

    deinit { close(descriptor) }

    private func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // The daemon has closed the connection, which the next read reports.
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

    /// Sends a request, reads its answer, which must have a length, and returns the status.
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

/// A daemon in another process.
private final class BenchDaemon: Sendable {
    private let scratch: Scratch
    private let pid: Int32
    let socket: String

    init() throws {
        scratch = try Scratch()
        socket = scratch.file("halyard.sock")
        try "definitions:\n  unfurl: {kind: unfurl}\n".write(
            toFile: scratch.file("definitions.yaml"), atomically: true, encoding: .utf8)
        try "{}\n".write(toFile: scratch.file("halyard.yaml"), atomically: true, encoding: .utf8)
        pid = try Program.start(
            Program.sibling("halyardd"), ["--config", scratch.file("halyard.yaml")],
            environment: [
                "HALYARD_DATABASE": scratch.file("halyard.db"), "HALYARD_SOCKET": socket,
                "HALYARD_DEFINITIONS": scratch.file("definitions.yaml"),
                "HALYARD_SPOOL_DIRECTORY": scratch.file("spool"),
            ])
        for _ in 0..<1000 {
            // Fails until the daemon listens.
            if (try? RawCaller(socket).exchange("GET /v1/queues HTTP/1.1\r\nHost: a\r\n\r\n")) == 200 { return }
            usleep(10_000)
        }
        throw BenchError("halyardd did not listen on \(socket)")
    }

    func stop() {
        kill(pid, SIGTERM)
        waitpid(pid, nil, 0)
    }

    func residentMegabytes() throws -> Double { try Program.residentMegabytes(pid) }

    /// Enqueues jobs that are due in ten hours.
    func fill(jobs: Int) throws {
        let line = #"{"definition":"unfurl","input":{"url":"https://example.com/"},"in_ms":36000000}"# + "\n"
        // Sends only so many at a time that the answers fit into the socket's buffer.
        let body = String(repeating: line, count: 1000)
        for _ in 0..<jobs / 1000 { try request("POST", "/v1/jobs", body, type: "application/x-ndjson") }
    }

    /// Enqueues a job and 99,999 that wait for it. The first job fails at once, or is due in 2099.
    func enqueueGraph(failing: Bool) throws {
        let first =
            failing
            ? #""input":{"url":"http://127.0.0.1:9/"}"#
            : #""input":{"url":"https://example.com/"},"at":"2099-01-01T00:00:00.000Z""#
        let rest = (1..<100_000).map {
            #"{"node":"n\#($0)","definition":"unfurl","input":{"url":"https://example.com/"},"after":["root"]}"#
        }
        let body = #"{"jobs":[{"node":"root","definition":"unfurl",\#(first)},"# + rest.joined(separator: ",") + "]}"
        try request("POST", "/v1/jobs", body)
    }

    func post(_ path: String, _ body: String = "") throws { try request("POST", path, body) }

    func awaitGraph(_ graph: Int) throws {
        _ = try RawCaller(
            socket, sending: "GET /v1/graphs/\(graph)/events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        .readToEnd()
    }

    private func request(_ method: String, _ path: String, _ body: String, type: String = "application/json") throws {
        let status = try RawCaller(
            socket,
            sending:
                "\(method) \(path) HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        ).readStatus()
        guard status < 300 else { throw BenchError("\(method) \(path) was answered \(status)") }
    }
}
