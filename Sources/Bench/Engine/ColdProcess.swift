import Foundation

/// The daemon as a process of its own: `halyard enqueue` as a cold process against `sqlite3` inserting one row, and the
/// daemon's resident memory when idle.
func measureProcesses() throws -> [Row] {
    let scratch = try Scratch()
    let environment = [
        "HALYARD_DATABASE": scratch.file("halyard.db"), "HALYARD_SOCKET": scratch.file("halyard.sock"),
        "HALYARD_DEFINITIONS": scratch.file("definitions.yaml"), "HALYARD_SPOOL_DIRECTORY": scratch.file("spool"),
    ]
    try "definitions:\n  unfurl: {kind: unfurl}\n".write(
        toFile: scratch.file("definitions.yaml"), atomically: true, encoding: .utf8)
    try "{}\n".write(toFile: scratch.file("halyard.yaml"), atomically: true, encoding: .utf8)
    let daemon = Process()
    daemon.executableURL = URL(fileURLWithPath: Program.sibling("halyardd"))
    daemon.arguments = ["--config", scratch.file("halyard.yaml")]
    daemon.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    daemon.standardError = FileHandle(forWritingAtPath: "/dev/null")
    try daemon.run()
    defer {
        daemon.terminate()
        daemon.waitUntilExit()
    }
    let halyard = Program.sibling("halyard")
    let sqlite = "/usr/bin/sqlite3"
    let rows = scratch.file("rows.db")
    _ = try Program.milliseconds(
        sqlite, [rows, "PRAGMA journal_mode=WAL; CREATE TABLE job (id INTEGER PRIMARY KEY, name TEXT, input TEXT)"])
    // Scheduled far ahead, so that nothing runs beside the measurement. The first call waits for the socket.
    let enqueue = ["enqueue", "unfurl", "https://example.com/", "--in", "10h"]
    try awaitSocket(environment["HALYARD_SOCKET"]!)
    var ours: [Double] = []
    var baseline: [Double] = []
    for _ in 0..<60 {
        ours.append(try Program.milliseconds(halyard, enqueue, environment: environment))
        baseline.append(
            try Program.milliseconds(
                sqlite, [rows, #"INSERT INTO job (name, input) VALUES ('unfurl', '{"url":"https://example.com/"}')"#]))
    }
    let memory = try Program.residentMegabytes(daemon.processIdentifier)
    let ratio = ours.median / baseline.median
    return [
        Row(
            name: "halyard enqueue, cold process", ratio: ratio, ours: ours.median, baseline: baseline.median,
            unit: "ms",
            limit: "≤ 3", holds: ratio <= 3),
        Row(
            name: "resident memory of the idle daemon", ratio: nil, ours: memory, baseline: nil, unit: "MB",
            limit: "≤ 40", holds: memory <= 40),
    ]
}

/// Waits until the daemon accepts connections, for at most ten seconds.
private func awaitSocket(_ path: String) throws {
    for _ in 0..<1000 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let code = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if code == 0 { return }
        usleep(10_000)
    }
    throw BenchError("halyardd did not listen on \(path)")
}
