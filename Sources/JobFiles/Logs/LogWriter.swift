import Glibc
import Jobs

/// Writes the files of one log. It keeps the first half of the limit and, in rotating segments, the last half.
///
/// 1. The text up to the last complete line is in the files when ``add(_:now:)`` returns; only an incomplete last line
///    stays in memory.
/// 2. A new segment is created after the previous one is complete, so a reader that sees it can read the previous one to
///    its end.
/// 3. After an error nothing more is written, and the header of the log's beginning names the error.
struct LogWriter {
    /// The smallest limit, in bytes.
    static let minLimit = 4096
    /// The longest piece of a line that is not divided, in bytes.
    static let maxPiece = 64 << 10
    private static let segments = 4

    private let places: Places
    private let lease: Lease
    private let headLimit: Int
    private let segmentLimit: Int
    private let maxPiece: Int

    private var file: OpenFile
    private var segment = 0
    private var size = SegmentHeader.size
    private var lastAt: Timestamp
    private var rest: [UInt8] = []
    private(set) var bytes: Int64 = 0
    private(set) var lines: Int64 = 0
    private(set) var failure: CInt = 0

    init(_ places: Places, _ lease: Lease, limit: Int, now: Timestamp) throws(JobFilesError) {
        let limit = max(limit, Self.minLimit)
        self.places = places
        self.lease = lease
        headLimit = limit / 2
        segmentLimit = limit / 2 / Self.segments
        maxPiece = min(Self.maxPiece, segmentLimit / 2)
        lastAt = now
        file = try OpenFile(places.log(lease), O_RDWR | O_CREAT | O_EXCL | O_APPEND)
        let code = file.append(SegmentHeader(startedAt: now).bytes)
        guard code == 0 else {
            unlink(file.path)
            throw .failed(action: "writing", path: file.path, errno: code)
        }
    }

    /// Adds bytes as they arrived. Never throws; see ``failure``.
    mutating func add(_ chunk: UnsafeRawBufferPointer, now: Timestamp) {
        guard failure == 0 else { return }
        var buffer: [UInt8] = []
        buffer.reserveCapacity(chunk.count + 64)
        var position = 0
        while position < chunk.count {
            let begin = chunk.baseAddress! + position
            let end = memchr(begin, 0x0A, chunk.count - position).map { UnsafeRawPointer($0) - begin }
            let part = chunk[position..<position + (end ?? chunk.count - position)]
            position += part.count + (end == nil ? 0 : 1)
            if rest.isEmpty, part.count <= maxPiece, end != nil {
                emit(part, isWhole: true, now, &buffer)
                continue
            }
            rest += part
            while rest.count > maxPiece {
                let cut = Self.cut(rest, at: maxPiece)
                emit(rest[..<cut], isWhole: false, now, &buffer)
                rest.removeFirst(cut)
            }
            if end != nil {
                emit(rest, isWhole: true, now, &buffer)
                rest = []
            }
        }
        flush(&buffer)
    }

    /// Writes the rest of the last line, and records that the log is complete.
    mutating func finish(now: Timestamp) {
        if failure == 0, !rest.isEmpty {
            var buffer: [UInt8] = []
            emit(rest, isWhole: false, now, &buffer)
            rest = []
            flush(&buffer)
        }
        if failure == 0 { record(.finished) }
    }

    /// The greatest index up to `limit` that does not divide a UTF-8 character.
    private static func cut(_ bytes: [UInt8], at limit: Int) -> Int {
        for cut in stride(from: limit, to: max(0, limit - 4), by: -1) where bytes[cut] & 0xC0 != 0x80 { return cut }
        return limit
    }

    private mutating func emit(_ text: some Collection<UInt8>, isWhole: Bool, _ now: Timestamp, _ buffer: inout [UInt8])
    {
        let limit = segment == 0 ? headLimit : segmentLimit
        if size + buffer.count + text.count + LogRecord.maxOverhead > limit, size + buffer.count > SegmentHeader.size {
            flush(&buffer)
            rotate(now)
        }
        LogRecord.append(text, delay: now.milliseconds - lastAt.milliseconds, isWhole: isWhole, to: &buffer)
        lastAt = max(now, lastAt)
        bytes += Int64(text.count) + (isWhole ? 1 : 0)
        lines += isWhole ? 1 : 0
    }

    private mutating func flush(_ buffer: inout [UInt8]) {
        defer { buffer.removeAll(keepingCapacity: true) }
        guard failure == 0, !buffer.isEmpty else { return }
        let code = file.append(buffer)
        guard code == 0 else { return fail(code) }
        size += buffer.count
    }

    private mutating func rotate(_ now: Timestamp) {
        guard failure == 0 else { return }
        lastAt = max(now, lastAt)
        let header = SegmentHeader(startedAt: lastAt, offset: bytes, lines: lines)
        do throws(JobFilesError) {
            let next = try OpenFile(
                places.segment(segment + 1, of: lease), O_RDWR | O_CREAT | O_EXCL | O_APPEND)
            let code = next.append(header.bytes)
            guard code == 0 else { return fail(code) }
            file = next
            segment += 1
            size = SegmentHeader.size
            if segment > Self.segments {
                try Folder.unlinkFile(places.segment(segment - Self.segments, of: lease))
            }
        } catch {
            guard case .failed(_, _, let code) = error else { return fail(EIO) }
            fail(code)
        }
    }

    private mutating func fail(_ code: CInt) {
        failure = code
        // Removes a partly written record. If that fails too, a reader skips the record, since it has no line feed.
        _ = ftruncate(file.descriptor, off_t(size))
        record(.failed(errno: code))
    }

    /// Changes the header in place, which needs no space on most file systems. If it fails, a reader finds the log as
    /// after a crash.
    private mutating func record(_ state: SegmentHeader.State) {
        var header = SegmentHeader(startedAt: Timestamp(milliseconds: 0))
        header.state = state
        (header.allBytes, header.allLines) = (bytes, lines)
        // `pwrite` would append to a file that was opened with O_APPEND, and the start must not change.
        guard let head = try? OpenFile(places.log(lease), O_RDWR), let old = try? head.read(SegmentHeader.size, at: 0),
            let current = SegmentHeader(old)
        else { return }
        header.startedAt = current.startedAt
        let bytes = header.bytes
        bytes.withUnsafeBytes { bytes in
            _ = pwrite(
                head.descriptor, bytes.baseAddress! + SegmentHeader.endOffset, bytes.count - SegmentHeader.endOffset,
                off_t(SegmentHeader.endOffset))
        }
    }
}
