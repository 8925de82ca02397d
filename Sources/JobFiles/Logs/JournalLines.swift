import Jobs

/// A line of a log for the daemon's own log.
public struct JournalLine: Hashable, Sendable {
    /// The text, without hidden characters.
    public let text: String
    /// Whether the daemon wrote the line, not the attempt.
    public let isOwn: Bool
}

/// The lines of a log for the daemon's own log: readable, of bounded length, and at most a bounded number each second.
struct JournalLines {
    static let maxLineBytes = 4096
    static let linesPerSecond = 100

    private var rest: [UInt8] = []
    private var isCut = false
    private var second: Int64 = .min
    private var count = 0
    private var dropped = 0

    /// Adds bytes and returns the lines to log.
    ///
    /// - Parameter isOwn: Whether the daemon wrote the lines that end in these bytes.
    mutating func add(_ bytes: some Sequence<UInt8>, isOwn: Bool = false, now: Timestamp) -> [JournalLine] {
        var lines: [JournalLine] = []
        for byte in bytes {
            if byte == 0x0A {
                endLine(isOwn: isOwn, now, &lines)
            } else if rest.count < Self.maxLineBytes {
                rest.append(byte)
            } else {
                isCut = true
            }
        }
        return lines
    }

    /// Ends the last line, which may lack its line break.
    mutating func finish(now: Timestamp) -> [JournalLine] {
        var lines: [JournalLine] = []
        if !rest.isEmpty { endLine(isOwn: false, now, &lines) }
        reportDropped(&lines)
        return lines
    }

    private mutating func endLine(isOwn: Bool, _ now: Timestamp, _ lines: inout [JournalLine]) {
        if now.milliseconds / 1000 != second {
            reportDropped(&lines)
            (second, count) = (now.milliseconds / 1000, 0)
        }
        count += 1
        if count <= Self.linesPerSecond {
            let text = String(decoding: rest, as: UTF8.self).withoutHiddenCharacters + (isCut ? "…" : "")
            lines.append(JournalLine(text: text, isOwn: isOwn))
        } else {
            dropped += 1
        }
        rest.removeAll(keepingCapacity: true)
        isCut = false
    }

    private mutating func reportDropped(_ lines: inout [JournalLine]) {
        if dropped > 0 {
            lines.append(JournalLine(text: "\(dropped) more lines are not shown here; see halyard log", isOwn: true))
        }
        dropped = 0
    }
}
