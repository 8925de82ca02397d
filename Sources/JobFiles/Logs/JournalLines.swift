import Jobs

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
    mutating func add(_ bytes: some Sequence<UInt8>, now: Timestamp) -> [String] {
        var lines: [String] = []
        for byte in bytes {
            if byte == 0x0A {
                endLine(now, &lines)
            } else if rest.count < Self.maxLineBytes {
                rest.append(byte)
            } else {
                isCut = true
            }
        }
        return lines
    }

    /// Ends the last line, which may lack its line break.
    mutating func finish(now: Timestamp) -> [String] {
        var lines: [String] = []
        if !rest.isEmpty { endLine(now, &lines) }
        reportDropped(&lines)
        return lines
    }

    private mutating func endLine(_ now: Timestamp, _ lines: inout [String]) {
        if now.milliseconds / 1000 != second {
            reportDropped(&lines)
            (second, count) = (now.milliseconds / 1000, 0)
        }
        count += 1
        if count <= Self.linesPerSecond {
            lines.append(String(decoding: rest, as: UTF8.self).withoutHiddenCharacters + (isCut ? "…" : ""))
        } else {
            dropped += 1
        }
        rest.removeAll(keepingCapacity: true)
        isCut = false
    }

    private mutating func reportDropped(_ lines: inout [String]) {
        if dropped > 0 { lines.append("\(dropped) more lines are not shown here; see halyard log") }
        dropped = 0
    }
}
