import Foundation
import Glibc
import JobFiles
import Jobs
import Testing

/// Logs damaged by a crash of the daemon, a power cut or a full disk.
@Suite struct DamageTests {
    private struct Written {
        let folder: TemporaryFolder
        let files: JobFiles
        var path: String { folder.path + "/files/0/41/1.log" }

        init(lines: Int, limit: Int = 1 << 20, finishes: Bool = true) throws {
            folder = try TemporaryFolder()
            let log = try JobFiles.inside(folder).beginLog(of: .first, limit: limit)
            for number in 0..<lines { log.append("line \(number)\n") }
            if finishes { log.finish() } else { _ = Unmanaged.passRetained(log) }
            // A new process has no live logs.
            files = JobFiles.inside(folder)
        }

        func truncate(_ path: String, by bytes: Int) throws {
            let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
            #expect(Glibc.truncate(path, off_t(size - bytes)) == 0)
        }
    }

    @Test func theLogOfADaemonThatWasKilledEndsWithAMark() throws {
        let log = try Written(lines: 3, finishes: false)
        let entries = try log.files.entries()
        #expect(entries.texts == ["line 0", "line 1", "line 2"])
        #expect(entries.end == .interrupted)
        #expect(try log.files.summary(of: .first)?.log == LogSummary(attempt: 1, bytes: 21, lines: 3, isOpen: false))
    }

    @Test(arguments: [1, 3, 8, 9, 20]) func truncatedLinesAreLeftOut(bytes: Int) throws {
        let log = try Written(lines: 10)
        try log.truncate(log.path, by: bytes)
        let entries = try log.files.entries()
        #expect(entries.texts == (0..<(10 - (bytes + 8) / 9)).map { "line \($0)" })
        #expect(entries.gaps.count == 1)
        #expect(entries.checkOffsets() == 70)
        #expect(entries.end == .finished)
    }

    /// A file system may keep a file's length and lose its blocks.
    @Test func zerosAtTheEndAreLeftOut() throws {
        let log = try Written(lines: 10, finishes: false)
        try log.truncate(log.path, by: 20)
        let handle = try FileHandle(forWritingTo: URL(filePath: log.path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(count: 4096))
        try handle.close()
        let entries = try log.files.entries()
        #expect(entries.texts == (0..<7).map { "line \($0)" })
        #expect(entries.end == .interrupted)
    }

    @Test func aDamagedSegmentIsAGap() throws {
        let log = try Written(lines: 5000, limit: 16 << 10)
        let names = try log.folder.files().filter { $0.contains(".log.") }
        let middle = log.folder.path + "/" + names[names.count / 2]
        try log.truncate(middle, by: 500)
        let entries = try log.files.entries()
        #expect(entries.gaps.count == 2)
        _ = entries.checkOffsets()
        #expect(entries.texts.last == "line 4999")
        #expect(entries.lines.count + entries.gaps.reduce(0) { $0 + Int($1.lines) } == 5000)
    }

    @Test func anEmptyFileIsNoLog() throws {
        let log = try Written(lines: 1)
        #expect(truncate(log.path, 0) == 0)
        #expect(try log.files.readLog(of: .first) == nil)
    }

    @Test func aLinkInPlaceOfALogIsNotFollowed() throws {
        let log = try Written(lines: 1)
        let secret = try log.folder.write("halyard log 1 secret".utf8, to: "secret")
        #expect(unlink(log.path) == 0)
        #expect(symlink(secret, log.path) == 0)
        #expect(throws: JobFilesError.self) { try log.files.readLog(of: .first) }
        // A new log replaces the link, not the file behind it.
        try log.files.beginLog(of: .first).append("new\n")
        #expect(try String(contentsOfFile: secret, encoding: .utf8) == "halyard log 1 secret")
        #expect(try log.files.entries().texts == ["new"])
    }

    @Test(.enabled("mounting needs root and a mount namespace") { SmallDisk.isPossible })
    func aFullDiskEndsTheLogAndNotTheAttempt() throws {
        let disk = try SmallDisk(bytes: 256 << 10)
        let files = JobFiles(folder: disk.path + "/files", now: { TestClock.start })
        let lines = LockedLines()
        let log = try files.beginLog(of: .first, onLines: { lines.add($0) })
        for number in 0..<40_000 { log.append("line \(number)\n") }
        #expect(log.failure == ENOSPC)
        log.finish()
        let entries = try files.entries()
        #expect(entries.end == .failed(errno: ENOSPC))
        #expect(entries.lines.count > 1000)
        #expect(entries.texts == (0..<entries.lines.count).map { "line \($0)" })
        #expect(!lines.all.isEmpty)
        #expect(throws: JobFilesError.self) { try files.beginLog(of: Lease(job: JobID(42), attempt: 1)) }
    }
}

/// A small in-memory file system.
final class SmallDisk: Sendable {
    private let folder: TemporaryFolder
    var path: String { folder.path }

    static var isPossible: Bool {
        guard geteuid() == 0, let disk = try? SmallDisk(bytes: 4096) else { return false }
        return disk.isMounted
    }

    private let isMounted: Bool

    init(bytes: Int) throws {
        folder = try TemporaryFolder()
        isMounted = mount("tmpfs", folder.path, "tmpfs", 0, "size=\(bytes)") == 0
    }

    deinit { if isMounted { umount2(folder.path, 2) } }
}
