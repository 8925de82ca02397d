import Foundation
import Glibc
import JobFiles
import Jobs
import Synchronization
import Testing

/// A folder for one test, removed with its content.
final class TemporaryFolder: Sendable {
    let path: String

    init(in parent: String = FileManager.default.temporaryDirectory.path) throws {
        var template = Array((parent + "/halyard-files-XXXXXX").utf8CString)
        path = try #require(
            template.withUnsafeMutableBufferPointer { mkdtemp($0.baseAddress!).map { String(cString: $0) } })
    }

    // A leftover temporary folder is harmless.
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
        let file = path + "/" + name
        try Data(Array(bytes)).write(to: URL(filePath: file))
        return file
    }

    /// Names of all files, relative to the folder.
    func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: path).filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path + "/" + name, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }
}

/// A clock that moves only when the test advances it.
final class TestClock: Sendable {
    static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private let moment = Mutex(TestClock.start)
    var now: Timestamp { moment.withLock(\.self) }
    func advance(by duration: Duration) { moment.withLock { $0 = $0 + duration } }
}

extension JobFiles {
    static func inside(_ folder: TemporaryFolder, clock: TestClock = TestClock()) -> JobFiles {
        JobFiles(folder: folder.path + "/files", now: { clock.now })
    }

    /// All current entries of the log.
    func entries(_ lease: Lease = .first, from offset: Int64 = 0) throws -> [LogEntry] {
        var reader = try #require(try readLog(of: lease, from: offset))
        return try reader.rest()
    }
}

extension LogReader {
    mutating func rest() throws -> [LogEntry] {
        var entries: [LogEntry] = []
        while true {
            let next = try next()
            if next.isEmpty { return entries }
            entries += next
        }
    }
}

extension Lease {
    static let first = Lease(job: JobID(41), attempt: 1)
}

extension AttemptLog {
    func append(_ text: String) { append(Array(text.utf8)) }
}

extension [LogEntry] {
    var lines: [LogLine] { compactMap { if case .line(let line) = $0 { line } else { nil } } }
    var texts: [String] { lines.map { String(decoding: $0.bytes, as: UTF8.self) } }
    var gaps: [LogGap] { compactMap { if case .leftOut(let gap) = $0 { gap } else { nil } } }
    var end: LogEnd? { if case .end(let end)? = last { end } else { nil } }

    /// Checks that each entry starts where the previous one ends, and returns the offset after the last.
    func checkOffsets(from start: Int64 = 0, _ location: SourceLocation = #_sourceLocation) -> Int64 {
        var offset = start
        for entry in self {
            switch entry {
            case .line(let line):
                #expect(line.offset == offset, sourceLocation: location)
                offset = line.nextOffset
            case .leftOut(let gap):
                #expect(gap.offset == offset, sourceLocation: location)
                offset += gap.bytes
            case .end: break
            }
        }
        return offset
    }
}

/// Counts wake-ups for a waiting thread.
final class Wakeup: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func wake() { semaphore.signal() }
    func wait() { semaphore.wait() }
}

final class LockedLines: Sendable {
    private let lines = Mutex<[JournalLine]>([])
    var all: [String] { lines.withLock { $0.map(\.text) } }
    /// The lines that the daemon wrote.
    var own: [String] { lines.withLock { $0.filter(\.isOwn).map(\.text) } }
    func add(_ more: [JournalLine]) { lines.withLock { $0 += more } }
}
