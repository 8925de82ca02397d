import Jobs

/// The lines that a process writes to its standard error: the last ones are kept for failures, and not more than a
/// bounded number each second reaches the log.
struct WorkerLog {
    static let maxLineBytes = 4096
    static let maxKeptBytes = 2048
    static let linesPerSecond = 100

    private var rest: [UInt8] = []
    private var isCut = false
    private(set) var kept: [String] = []
    private var second: Duration = .zero
    private var count = 0
    private var dropped = 0

    /// Adds bytes.
    ///
    /// - Returns: The lines to log.
    mutating func add(_ bytes: some Sequence<UInt8>, now: Duration) -> [String] {
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
    mutating func finish(now: Duration) -> [String] {
        var lines: [String] = []
        if !rest.isEmpty { endLine(now, &lines) }
        if dropped > 0 { lines.append("\(dropped) more lines were dropped") }
        dropped = 0
        return lines
    }

    private mutating func endLine(_ now: Duration, _ lines: inout [String]) {
        let line = String(decoding: rest, as: UTF8.self).withoutHiddenCharacters + (isCut ? "…" : "")
        rest = []
        isCut = false
        kept.append(line)
        while kept.reduce(0, { $0 + $1.utf8.count }) > Self.maxKeptBytes, kept.count > 1 { kept.removeFirst() }
        if now - second >= .seconds(1) {
            if dropped > 0 { lines.append("\(dropped) more lines were dropped") }
            (second, count, dropped) = (now, 0, 0)
        }
        count += 1
        if count <= Self.linesPerSecond { lines.append(line) } else { dropped += 1 }
    }
}
