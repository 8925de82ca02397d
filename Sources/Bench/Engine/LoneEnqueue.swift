import Foundation

/// Measures what the daemon spends on one enqueued job: system calls, and pages in the write-ahead log. The
/// requests are sent one at a time on one connection, with and without a key. The command line always sends a
/// key.
func measureLoneEnqueue() throws -> [Row] {
    let scratch = try Scratch()
    let daemon = try DaemonProcess(in: scratch.path)
    defer { daemon.stop() }
    let count = 100
    let caller = try RawCaller(daemon.socket)
    var sent = 0
    func enqueue(withKey: Bool) throws {
        for _ in 0..<count {
            sent += 1
            // Scheduled far ahead, so that nothing runs during the measurement.
            let key = withKey ? #","key":"halyard-\#(100_000 + sent)""# : ""
            let body = #"{"definition":"unfurl","input":{"url":"https://example.com/"},"in_ms":36000000\#(key)}"#
            let status = try caller.exchange(RawCaller.request("POST", "/v1/jobs", body))
            guard status == 201 else { throw BenchError("an enqueue was answered \(status)") }
        }
    }
    try enqueue(withKey: false)
    let log = scratch.file("halyard.db-wal")
    var pages: [Double] = []
    for withKey in [false, true] {
        var frames = -1
        // If there are fewer frames than before, a checkpoint has restarted the log.
        while frames < 0 {
            let before = try framesInLog(log)
            try enqueue(withKey: withKey)
            frames = try framesInLog(log) - before
        }
        pages.append(Double(frames) / Double(count))
    }
    let calls = try systemCalls(of: daemon.pid, in: scratch.file("calls")) { try enqueue(withKey: false) }
    return [
        Row("lone enqueue, system calls of the daemon", calls / Double(count), "calls", .atMost(33)),
        Row("lone enqueue, pages of log", pages[0], "pages", .atMost(6)),
        Row("lone enqueue with a key, pages of log", pages[1], "pages", .atMost(8)),
    ]
}

/// Returns the number of frames since the last restart of the log. They have the same salt as the log's header.
private func framesInLog(_ path: String) throws -> Int {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let pageSize = bytes[8..<12].reduce(0) { $0 << 8 | Int($1) }
    let salt = bytes[16..<24]
    var frames = 0
    var start = 32
    while start + 24 + pageSize <= bytes.count, bytes[(start + 8)..<(start + 16)].elementsEqual(salt) {
        frames += 1
        start += 24 + pageSize
    }
    return frames
}

/// Counts with strace the system calls of a process and all its threads while `work` runs.
private func systemCalls(of pid: Int32, in file: String, _ work: () throws -> Void) throws -> Double {
    let strace = try Program.start("/usr/bin/strace", ["-f", "-c", "-o", file, "-p", "\(pid)"])
    for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
        while try !isTraced("/proc/\(pid)/task/\(thread)/status") { usleep(1000) }
    }
    try work()
    kill(strace, SIGINT)
    waitpid(strace, nil, 0)
    // strace's last line, such as `100.00    0.489153          59      8255        38 total`
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    guard let total = lines.last(where: { $0.hasSuffix(" total") }),
        let calls = Double(total.split(separator: " ")[3])
    else { throw BenchError("strace counted nothing; may this user trace processes?") }
    return calls
}

private func isTraced(_ status: String) throws -> Bool {
    // A thread that has ended in the meantime needs no tracer.
    guard let text = try? String(contentsOfFile: status, encoding: .utf8) else { return true }
    return !text.contains("TracerPid:\t0\n")
}
