import Glibc
import Jobs

/// Reads the log of an attempt, also while it is being written.
///
/// Each call of ``next()`` returns the entries that arrived since the last one, so a reader that follows a log gets every
/// line once, in order. Files that were removed while they were read can still be read; a gap is reported where the reader
/// was too slow.
public struct LogReader: Sendable {
    /// The attempt whose log is read.
    public let lease: Lease
    /// Whether the end of the log was returned.
    public private(set) var isAtEnd = false
    /// The offset of the next line.
    public private(set) var offset: Int64 = 0

    private let files: JobFiles
    private let beginning: OpenFile
    private let first: Int64
    private var file: OpenFile
    private var segment = 0
    private var position = Int64(SegmentHeader.size)
    private var lastAt: Int64
    private var lines: Int64 = 0
    /// The number of line breaks before ``offset``.
    var lineCount: Int64 { lines }
    private static let usualBytes = 16 << 10
    /// The longest record, so that a piece of this size always contains a complete one.
    private static let pieceBytes = LogWriter.maxPiece + LogRecord.maxOverhead + 1

    /// - Parameter first: The offset of the first line to return; earlier ones are skipped.
    /// - Returns: Nil if the attempt has no log.
    init?(_ files: JobFiles, _ lease: Lease, from first: Int64) throws(JobFilesError) {
        self.lease = lease
        self.files = files
        self.first = first
        guard let head = try Self.open(0, lease, files) else { return nil }
        (beginning, file, lastAt) = (head.file, head.file, head.header.startedAt.milliseconds)
        if first > 0 { try skip(to: first) }
    }

    /// Returns the entries that the log has now, at most as many as fit in about 64 KiB. An empty list means that there is
    /// nothing new yet; at the end the list ends with ``LogEntry/end(_:)``, and later calls return an empty one.
    ///
    /// - Throws: ``JobFilesError`` if a file cannot be read.
    public mutating func next() throws(JobFilesError) -> [LogEntry] {
        while !isAtEnd {
            // Read the end before the lines: what comes before the end is then complete.
            let end = try currentEnd()
            var found = try readPiece()
            if !found.isEmpty { return found }
            if let next = try nextSegment() {
                // The previous segment was complete before this one was created, so read its rest first.
                found = try readPiece()
                if !found.isEmpty { return found }
                let gap = LogGap(offset: offset, bytes: next.header.offset - offset, lines: next.header.lines - lines)
                (file, segment, position) = (next.file, next.number, Int64(SegmentHeader.size))
                (lastAt, offset, lines) = (next.header.startedAt.milliseconds, next.header.offset, next.header.lines)
                if gap.bytes > 0, offset > first { return [.leftOut(gap)] }
            } else if let end {
                return finish(end)
            } else {
                return []
            }
        }
        return []
    }

    /// Returns nil if the log may grow.
    private func currentEnd() throws(JobFilesError) -> (LogEnd, SegmentHeader?)? {
        let isLive = files.isLive(lease)
        guard let header = SegmentHeader(try beginning.read(SegmentHeader.size, at: 0)) else {
            return isLive ? nil : (.interrupted, nil)
        }
        switch header.state {
        case .finished: return (.finished, header)
        case .failed(let code): return (.failed(errno: code), header)
        case .open: return isLive ? nil : (.interrupted, nil)
        }
    }

    private mutating func finish(_ end: (state: LogEnd, header: SegmentHeader?)) -> [LogEntry] {
        isAtEnd = true
        var entries: [LogEntry] = []
        if let header = end.header, header.allBytes > offset, header.allBytes > first {
            entries.append(
                .leftOut(
                    LogGap(offset: offset, bytes: header.allBytes - offset, lines: max(0, header.allLines - lines))))
        }
        return entries + [.end(end.state)]
    }

    /// Parses the complete records at the current position. Damaged bytes end the file.
    private mutating func readPiece() throws(JobFilesError) -> [LogEntry] {
        var entries: [LogEntry] = []
        while entries.isEmpty {
            let piece = try readRecords()
            var begin = 0
            while let end = piece[begin...].firstIndex(of: 0x0A) {
                guard let record = LogRecord(piece[begin..<end]) else { return entries }
                let line = LogLine(
                    offset: offset, arrivedAt: Timestamp(milliseconds: lastAt &+ record.delay),
                    bytes: Array(record.bytes), isWhole: record.isWhole)
                lastAt &+= record.delay
                position += Int64(end + 1 - begin)
                begin = end + 1
                offset = line.nextOffset
                lines += line.isWhole ? 1 : 0
                if line.offset >= first || offset > first && line.offset + Int64(line.bytes.count) > first {
                    entries.append(.line(line))
                }
            }
            if begin == 0 { return entries }
        }
        return entries
    }

    /// Reads little at a time, since many short lines take far more memory than their bytes, but at least one record.
    private func readRecords() throws(JobFilesError) -> [UInt8] {
        let piece = try file.read(Self.usualBytes, at: position)
        if piece.count < Self.usualBytes || piece.contains(0x0A) { return piece }
        return try file.read(Self.pieceBytes, at: position)
    }

    private typealias Segment = (file: OpenFile, number: Int, header: SegmentHeader)

    /// Opens the first segment after the current one that still exists.
    private func nextSegment() throws(JobFilesError) -> Segment? {
        if let next = try Self.open(segment + 1, lease, files) { return next }
        // Listing the folder is needed only if the writer has overtaken this reader.
        for number in try files.places.segments(of: lease) where number > segment {
            if let next = try Self.open(number, lease, files) { return next }
        }
        return nil
    }

    /// Returns nil if the segment does not exist, or is not complete up to its first record.
    private static func open(
        _ number: Int, _ lease: Lease, _ files: JobFiles
    ) throws(JobFilesError) -> Segment? {
        do throws(JobFilesError) {
            let file = try OpenFile(files.places.segment(number, of: lease), O_RDONLY)
            guard let header = SegmentHeader(try file.read(SegmentHeader.size, at: 0)) else { return nil }
            return (file, number, header)
        } catch {
            guard case .failed(_, _, ENOENT) = error else { throw error }
            return nil
        }
    }

    /// Begins with the last segment that contains the offset.
    private mutating func skip(to first: Int64) throws(JobFilesError) {
        for number in try files.places.segments(of: lease).reversed() where number > 0 {
            guard let found = try Self.open(number, lease, files), found.header.offset <= first else { continue }
            (file, segment) = (found.file, number)
            (lastAt, offset, lines) = (
                found.header.startedAt.milliseconds, found.header.offset, found.header.lines
            )
            return
        }
    }
}

extension JobFiles {
    /// Returns a reader for the log of an attempt; nil if it has none.
    ///
    /// - Parameter offset: The offset of the first line to read; a line that contains it is read from its beginning.
    public func readLog(of lease: Lease, from offset: Int64 = 0) throws(JobFilesError) -> LogReader? {
        try LogReader(self, lease, from: offset)
    }

    /// The numbers of the attempts that have a log, in ascending order.
    public func attemptsWithLog(of job: JobID) throws(JobFilesError) -> [Int] {
        try places.names(of: job).compactMap { name in
            if case .segment(let attempt, 0) = name { attempt } else { nil }
        }.sorted()
    }

    /// Returns the size of an attempt's log, and its last lines; nil if it has none. Text that is written meanwhile is left
    /// out, so the call ends however fast the log grows.
    ///
    /// - Parameter count: The number of lines to return, at most.
    public func summary(
        of lease: Lease, lastLines count: Int = 0
    ) throws(JobFilesError) -> (log: LogSummary, lines: [LogLine])? {
        // The last two files contain the end of the log.
        let numbers = try places.segments(of: lease)
        guard numbers.first == 0, let head = SegmentHeader(try readHeader(places.log(lease))) else { return nil }
        // Read after the header: a log that was open and is not live now does not grow any more.
        let size: LogSize? =
            head.state == .open ? liveSize(of: lease) : LogSize(bytes: head.allBytes, lines: head.allLines)
        let isOpen = head.state == .open && size != nil
        if let size, count == 0 {
            return (LogSummary(attempt: lease.attempt, bytes: size.bytes, lines: size.lines, isOpen: isOpen), [])
        }
        var first: Int64 = 0
        for number in numbers.suffix(2) where number > 0 {
            if let header = SegmentHeader(try readHeader(places.segment(number, of: lease))) {
                first = header.offset
                break
            }
        }
        guard var reader = try readLog(of: lease, from: first) else { return nil }
        let limit = size?.bytes ?? .max
        var last: [LogLine] = []
        while reader.offset < limit {
            let entries = try reader.next()
            for case .line(let line) in entries where line.offset < limit { last.append(line) }
            if last.count > count { last.removeFirst(last.count - count) }
            if entries.isEmpty || reader.isAtEnd { break }
        }
        return (
            LogSummary(
                attempt: lease.attempt, bytes: size?.bytes ?? reader.offset, lines: size?.lines ?? reader.lineCount,
                isOpen: isOpen),
            last
        )
    }

    private func readHeader(_ path: String) throws(JobFilesError) -> [UInt8] {
        do throws(JobFilesError) {
            return try OpenFile(path, O_RDONLY).read(SegmentHeader.size, at: 0)
        } catch {
            // A rotation removed the segment.
            guard case .failed(_, _, ENOENT) = error else { throw error }
            return []
        }
    }
}
