import Foundation
import Jobs
import Runner
import SQLite
import SQLiteStore

/// Measures `halyard enqueue --lines` with 100,000 lines through the daemon, compared with a plain SQLite loop
/// that inserts the same number of jobs into the same schema, 1,000 in each transaction.
func measureLines() async throws -> Row {
    let count = 100_000
    let scratch = try Scratch()
    let lines = scratch.file("lines.jsonl")
    // Scheduled far ahead, so that nothing runs during the measurement.
    let text = (0..<count).map {
        #"{"definition":"unfurl","input":{"url":"https://example.com/\#($0)"},"in_ms":36000000}"# + "\n"
    }.joined()
    try text.write(toFile: lines, atomically: true, encoding: .utf8)
    let medians = try await medians(ofRounds: 3) {
        let folder = try Scratch()
        let daemon = try DaemonProcess(in: folder.path)
        defer { daemon.stop() }
        let milliseconds = try Program.milliseconds(
            Program.sibling("halyard"), ["enqueue", "--lines", lines], environment: daemon.environment)
        let seconds = try await insertJobs(count, in: folder.file("plain.db"))
        return [Double(count) / milliseconds * 1000, Double(count) / seconds]
    }
    return Row("halyard enqueue --lines", medians[0], to: medians[1], "jobs/s", ratio: .atLeast(0.2))
}

/// - Returns: The time in seconds.
private func insertJobs(_ count: Int, in path: String) async throws -> Double {
    let (lock, store, definition) = try await openNoOpStore(at: path, limit: 16)
    let now = SystemWallClock().now.milliseconds
    await store.close()
    lock.release()
    let connection = try Connection(path: path, access: .readWrite)
    try connection.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8000")
    let begin = try connection.prepare("BEGIN IMMEDIATE")
    let commit = try connection.prepare("COMMIT")
    let job = try connection.prepare(
        """
        INSERT INTO job (id, state, queue_id, priority, definition_id, attempt, tries, rescues, dependencies, pending,
                         enqueued_ms, due_ms, steady_ms)
        VALUES (:job, 1, 1, 0, :definition, 0, 0, 0, 0, 0, :now, :due, :due)
        """, Field.self)
    let input = try connection.prepare("INSERT INTO job_input (job_id, input) VALUES (:job, :input)", Field.self)
    let tally = try connection.prepare("UPDATE tally SET scheduled = scheduled + 1000 WHERE queue_id = 1")
    let start = ContinuousClock.now
    for first in stride(from: 1, through: count, by: 1000) {
        try begin.run()
        for id in first..<first + 1000 {
            try job.run([
                .job <- id, .definition <- definition.rawValue, .now <- now, .due <- now + 36_000_000,
            ])
            try input.run([.job <- id, .input <- #"{"url":"https://example.com/\#(id)"}"#])
        }
        try tally.run()
        try commit.run()
    }
    return (ContinuousClock.now - start) / .seconds(1)
}

private enum Field: UInt8, ParameterName {
    case job, definition, now, due, input
}
