import Jobs
import Synchronization

/// The amount of text in a log, without the rest of an incomplete line.
struct LogSize: Sendable {
    var bytes: Int64 = 0
    var lines: Int64 = 0
}

/// The log of a running attempt.
///
/// A dedicated thread passes it the bytes that the attempt writes. Errors never reach that thread: when the disk is full
/// or fails, the log ends with a mark, which readers show, and the attempt continues.
public final class AttemptLog: Sendable {
    /// The attempt that the log belongs to.
    public let lease: Lease
    private let files: JobFiles
    private let state: Mutex<State>
    private let onLines: (@Sendable ([JournalLine]) -> Void)?

    private struct State {
        var writer: LogWriter
        var journal = JournalLines()
        var isFinished = false
    }

    init(_ writer: LogWriter, of lease: Lease, in files: JobFiles, onLines: (@Sendable ([JournalLine]) -> Void)?) {
        self.lease = lease
        self.files = files
        self.onLines = onLines
        state = Mutex(State(writer: writer))
    }

    deinit { finish() }

    /// Adds bytes that the attempt wrote. They need not end with a line break.
    ///
    /// Complete lines are written to the file before this returns, with one `write` for most chunks, and readers that
    /// follow the log are woken. The disk is the only thing that this waits for, and nothing is synchronized with it: a
    /// power cut may lose the last seconds of a log. Does nothing after ``finish()``.
    public func append(_ bytes: UnsafeRawBufferPointer) { append(bytes, isOwn: false) }

    /// Adds a line of the daemon, as ``append(_:)-(UnsafeRawBufferPointer)`` adds bytes. The bytes before it must end with a
    /// line break.
    public func note(_ line: String) { Array("\(line)\n".utf8).withUnsafeBytes { append($0, isOwn: true) } }

    private func append(_ bytes: UnsafeRawBufferPointer, isOwn: Bool) {
        if bytes.isEmpty { return }
        let now = files.now()
        let added = state.withLock { state -> (lines: [JournalLine], size: LogSize)? in
            if state.isFinished { return nil }
            state.writer.add(bytes, now: now)
            let lines = onLines == nil ? [] : state.journal.add(bytes, isOwn: isOwn, now: now)
            return (lines: lines, size: LogSize(bytes: state.writer.bytes, lines: state.writer.lines))
        }
        guard let added else { return }
        files.grow(lease, to: added.size)
        if !added.lines.isEmpty { onLines?(added.lines) }
    }

    /// Adds bytes that the attempt wrote, as ``append(_:)-(UnsafeRawBufferPointer)`` does.
    public func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    /// Ends the log with the rest of its last line. Readers that follow it see the end. Further calls do nothing.
    public func finish() {
        let now = files.now()
        let lines = state.withLock { state -> [JournalLine]? in
            if state.isFinished { return nil }
            state.isFinished = true
            state.writer.finish(now: now)
            return onLines == nil ? [] : state.journal.finish(now: now)
        }
        guard let lines else { return }
        files.end(lease)
        if !lines.isEmpty { onLines?(lines) }
    }

    /// The error that ended the log early, such as `ENOSPC`; nil if there was none.
    public var failure: Int32? { state.withLock { $0.writer.failure == 0 ? nil : $0.writer.failure } }
}
