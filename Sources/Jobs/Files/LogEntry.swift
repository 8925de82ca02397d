/// One entry of the log of an attempt, as a reader gets it.
public enum LogEntry: Sendable, Hashable {
    /// A line, or a piece of a long one.
    case line(LogLine)
    /// Lines that the log no longer has: the limit was reached, so the middle of the log was removed, or a crash of the
    /// machine damaged it.
    case leftOut(LogGap)
    /// The end of the log, always the last entry.
    case end(LogEnd)
}

/// A line of a log, or a piece of a line that is too long or has no line break.
public struct LogLine: Sendable, Hashable {
    /// The number of bytes that the attempt wrote before this line, including line breaks.
    public var offset: Int64
    /// When the end of the line arrived.
    public var arrivedAt: Timestamp
    /// The bytes that the attempt wrote, without the line break. They may be of any encoding.
    public var bytes: [UInt8]
    /// Whether a line break followed. Otherwise the next line of the log continues this one.
    public var isWhole: Bool

    /// Creates a line.
    public init(offset: Int64, arrivedAt: Timestamp, bytes: [UInt8], isWhole: Bool) {
        self.offset = offset
        self.arrivedAt = arrivedAt
        self.bytes = bytes
        self.isWhole = isWhole
    }

    /// The line as text; replacement characters stand for bytes that are not UTF-8 and for null bytes.
    package var text: String {
        String(
            decoding: bytes.contains(0) ? bytes.flatMap { $0 == 0 ? [0xEF, 0xBF, 0xBD] : [$0] } : bytes, as: UTF8.self)
    }

    /// The offset of the following line.
    public var nextOffset: Int64 { offset + Int64(bytes.count) + (isWhole ? 1 : 0) }
}

/// A gap in a log.
public struct LogGap: Sendable, Hashable {
    /// The offset of the first byte that is missing.
    public var offset: Int64
    /// The number of bytes that are missing.
    public var bytes: Int64
    /// The number of line breaks that are missing.
    public var lines: Int64

    /// Creates a gap.
    public init(offset: Int64, bytes: Int64, lines: Int64) {
        self.offset = offset
        self.bytes = bytes
        self.lines = lines
    }
}

/// The reason why a log ends.
public enum LogEnd: Sendable, Hashable {
    /// The attempt has ended, and the log is complete.
    case finished
    /// The log could not be written any further; the attempt continued without it.
    case failed(errno: Int32)
    /// The daemon or the machine stopped during the attempt. The last lines may be missing.
    case interrupted
    /// The attempt may still be writing, and the reader did not want to wait.
    case open
}

/// The size of the log of an attempt.
public struct LogSummary: Sendable, Hashable {
    /// The attempt's number.
    public var attempt: Int
    /// The number of bytes that the attempt wrote, including bytes that the log no longer has.
    public var bytes: Int64
    /// The number of line breaks among these bytes.
    public var lines: Int64
    /// Whether the attempt may still be writing.
    public var isOpen: Bool

    /// Creates a summary.
    public init(attempt: Int, bytes: Int64, lines: Int64, isOpen: Bool) {
        self.attempt = attempt
        self.bytes = bytes
        self.lines = lines
        self.isOpen = isOpen
    }
}
