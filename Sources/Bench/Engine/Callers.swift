import Foundation
import Synchronization

/// Measures how long a caller with small requests waits while others load the daemon. Every ten milliseconds
/// the caller enqueues a job and reads one; the limit applies to the 99th percentile.
func measureCallers() throws -> [Row] {
    let scratch = try Scratch()
    let daemon = try DaemonProcess(in: scratch.path)
    defer { daemon.stop() }
    try daemon.fill(jobs: 10_000)
    var rows: [Row] = []
    func measure(_ name: String, _ load: @escaping @Sendable () throws -> Void) throws {
        let waits = try goodCaller(daemon.socket, while: load)
        rows.append(Row("p99 beside \(name)", waits.percentile(0.99), "ms", .atMost(100)))
    }
    let socket = daemon.socket
    try measure("nothing") { usleep(3_000_000) }
    try measure("641 half-open connections") {
        let peers = try (0..<641).map { _ in try RawCaller(socket, sending: "GET /v1/sta") }
        usleep(3_000_000)
        withExtendedLifetime(peers) {}
    }
    let listing = RawCaller.request("GET", "/v1/jobs?limit=10000", closes: true)
    let before = try Program.residentMegabytes(daemon.pid)
    var most = before
    try measure("40 callers that do not read") {
        let peers = try (0..<40).map { _ in try RawCaller(socket, sending: listing) }
        usleep(3_000_000)
        withExtendedLifetime(peers) {}
    }
    most = max(most, try Program.residentMegabytes(daemon.pid))
    try measure("16 callers that list 10,000 jobs") {
        try concurrently(16) {
            for _ in 0..<3 { try RawCaller(socket, sending: listing).readToEnd() }
        }
    }
    most = max(most, try Program.residentMegabytes(daemon.pid))
    rows.append(Row("memory for answers", most - before, "MB", .atMost(40)))
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
    return rows + [
        Row("peak memory of the daemon", try Program.peakMegabytes(daemon.pid), "MB", .atMost(200)),
        Row("resident memory after all that", try Program.residentMegabytes(daemon.pid), "MB", .atMost(130)),
    ]
}

/// Returns the waits, in milliseconds, of a caller that sends small requests until the load has ended.
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
            RawCaller.request("POST", "/v1/jobs", body),
            RawCaller.request("GET", "/v1/jobs/1"),
        ] {
            let start = ContinuousClock.now
            guard try caller.exchange(request) < 300 else { throw BenchError("the good caller was refused") }
            waits.append(start.milliseconds)
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

extension DaemonProcess {
    /// Enqueues jobs that are due in ten hours.
    fileprivate func fill(jobs: Int) throws {
        let line = #"{"definition":"unfurl","input":{"url":"https://example.com/"},"in_ms":36000000}"# + "\n"
        // Sends few enough lines at a time that the answers fit into the socket's buffer.
        let body = String(repeating: line, count: 1000)
        for _ in 0..<jobs / 1000 { try request("POST", "/v1/jobs", body, type: "application/x-ndjson") }
    }

    /// Enqueues a job and 99,999 jobs that depend on it. The first job fails at once, or is due in 2099.
    fileprivate func enqueueGraph(failing: Bool) throws {
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

    fileprivate func post(_ path: String, _ body: String = "") throws { try request("POST", path, body) }

    fileprivate func awaitGraph(_ graph: Int) throws {
        _ = try RawCaller(socket, sending: RawCaller.request("GET", "/v1/graphs/\(graph)/events", closes: true))
            .readToEnd()
    }

    private func request(_ method: String, _ path: String, _ body: String, type: String = "application/json") throws {
        let request = RawCaller.request(method, path, body, type: type, closes: true)
        let status = try RawCaller(socket, sending: request).readStatus()
        guard status < 300 else { throw BenchError("\(method) \(path) was answered \(status)") }
    }
}
