import Foundation

/// Measures `halyard enqueue` as a cold process, compared with `sqlite3` inserting one row, and the resident
/// memory of an idle daemon in another process.
func measureProcesses() async throws -> [Row] {
    let scratch = try Scratch()
    let daemon = try DaemonProcess(in: scratch.path)
    defer { daemon.stop() }
    let halyard = Program.sibling("halyard")
    let sqlite = "/usr/bin/sqlite3"
    let rows = scratch.file("rows.db")
    _ = try Program.milliseconds(
        sqlite, [rows, "PRAGMA journal_mode=WAL; CREATE TABLE job (id INTEGER PRIMARY KEY, name TEXT, input TEXT)"])
    // Scheduled far ahead, so that nothing runs during the measurement.
    let enqueue = ["enqueue", "unfurl", "https://example.com/", "--in", "10h"]
    let medians = try await medians(ofRounds: 60) {
        [
            try Program.milliseconds(halyard, enqueue, environment: daemon.environment),
            try Program.milliseconds(
                sqlite, [rows, #"INSERT INTO job (name, input) VALUES ('unfurl', '{"url":"https://example.com/"}')"#]),
        ]
    }
    let memory = try Program.residentMegabytes(daemon.pid)
    return [
        Row("halyard enqueue, cold process", medians[0], to: medians[1], "ms", ratio: .atMost(1.5)),
        Row("resident memory of the idle daemon", memory, "MB", .atMost(40)),
    ]
}
