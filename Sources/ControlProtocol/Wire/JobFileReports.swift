import Jobs

/// Which part of which log to read.
public struct LogRequest: Sendable, Hashable {
    /// The job.
    public var job: JobID
    /// The attempt; nil for the last attempt that has a log.
    public var attempt: Int?
    /// The attempt to begin with if ``attempt`` is nil; nil for the last one that has a log.
    public var first: Int?
    /// The offset of the first line in the log of ``attempt`` or ``first``, one of which it needs. In bytes.
    public var offset: Int64
    /// Whether to wait for further lines: until the log of the attempt ends or, without an attempt, through all further
    /// attempts until the job is final.
    public var follows: Bool

    /// Creates a request for a log from its beginning.
    public init(
        job: JobID, attempt: Int? = nil, first: Int? = nil, offset: Int64 = 0, follows: Bool = false
    ) {
        self.job = job
        self.attempt = attempt
        self.first = first
        self.offset = offset
        self.follows = follows
    }
}

/// One entry of a log, with the attempt that it belongs to.
public struct LogPiece: Sendable, Hashable {
    /// The attempt's number.
    public var attempt: Int
    /// A line, a gap or the end.
    public var entry: LogEntry

    /// Creates a piece.
    public init(attempt: Int, entry: LogEntry) {
        self.attempt = attempt
        self.entry = entry
    }
}

/// The log of a job's last attempt, in the details of the job.
public struct LogReport: Sendable, Hashable {
    /// The size of the log.
    public var summary: LogSummary
    /// The last lines, for a job that failed; at most 10, each cut after 500 bytes.
    public var last: [String]

    /// Creates a report.
    public init(summary: LogSummary, last: [String] = []) {
        self.summary = summary
        self.last = last
    }
}

/// A kept file and its content.
public struct FileContent: Sendable {
    /// The file's name, size and digest.
    public var file: FileReport
    /// The content in order. It throws ``ControlProblem`` if it cannot be read to the end.
    public var chunks: AsyncThrowingStream<[UInt8], any Error>

    /// Creates a value.
    public init(file: FileReport, chunks: AsyncThrowingStream<[UInt8], any Error>) {
        self.file = file
        self.chunks = chunks
    }
}

/// A file that is the result of a job.
public struct FileReport: Sendable, Hashable {
    /// The name that the program gave the file.
    public var name: String
    /// The size in bytes.
    public var size: Int64
    /// The SHA-256 of the content, in hexadecimal.
    public var sha256: String

    /// Creates a report.
    public init(name: String, size: Int64, sha256: String) {
        self.name = name
        self.size = size
        self.sha256 = sha256
    }
}
