import Foundation
import Glibc
import JobFiles
import Jobs
import Testing

@Suite struct KeepTests {
    private let folder: TemporaryFolder
    private let files: JobFiles

    init() throws {
        folder = try TemporaryFolder()
        files = JobFiles.inside(folder)
    }

    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    private func inode(_ path: String) throws -> UInt64 {
        try #require(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64)
    }

    @Test func aFileIsMovedAndDescribed() throws {
        let source = try folder.write("abc".utf8, to: "out.png")
        let number = try inode(source)
        let kept = try files.keep(source, of: .first, name: "größe 1.png")
        #expect(kept.sha256 == Self.abc)
        #expect(kept.size == 3)
        #expect(try inode(kept.path) == number)
        #expect(access(source, F_OK) != 0)
        #expect(try FileManager.default.attributesOfItem(atPath: kept.path)[.posixPermissions] as? Int == 0o400)
        // Another process finds the file.
        let found = try #require(try JobFiles.inside(folder).file(of: JobID(41)))
        #expect(found == kept)
        let reader = try files.open(found)
        #expect(try reader.read(10, at: 1) == Array("bc".utf8))
        #expect(try files.file(of: JobID(42)) == nil)
    }

    @Test func anEmptyAndALargeFileAreKept() throws {
        let empty = try files.keep(try folder.write([], to: "a"), of: .first, name: "a")
        #expect(empty.size == 0)
        #expect(empty.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        let bytes = (0..<1_000_003).map { UInt8(truncatingIfNeeded: $0) }
        let large = try files.keep(
            try folder.write(bytes, to: "b"), of: Lease(job: JobID(42), attempt: 3), name: "b")
        #expect(large.size == 1_000_003)
        #expect(try files.open(large).read(2_000_000, at: 0) == bytes)
    }

    @Test func theLastAttemptsFileCounts() throws {
        for attempt in [1, 2, 10] {
            let source = try folder.write("attempt \(attempt)".utf8, to: "out")
            _ = try files.keep(source, of: Lease(job: JobID(41), attempt: attempt), name: "\(attempt)")
        }
        #expect(try files.file(of: JobID(41))?.name == "10")
        // The same attempt may keep another file.
        _ = try files.keep(
            try folder.write("b".utf8, to: "out"), of: Lease(job: JobID(41), attempt: 10), name: "other")
        #expect(try files.file(of: JobID(41))?.name == "other")
        try files.settle(JobID(41), keeping: 10)
        #expect(try folder.files() == ["files/0/41/10.file", "files/0/41/10.kept"])
        try files.settle(JobID(41), keeping: nil)
        #expect(try folder.files().isEmpty)
    }

    @Test func aFileThatNoResultMentionsIsDiscarded() throws {
        _ = try files.keep(try folder.write("abc".utf8, to: "out"), of: .first, name: "x")
        let other = Lease(job: JobID(41), attempt: 9)
        _ = try files.keep(try folder.write("def".utf8, to: "out"), of: other, name: "y")
        for _ in 0..<2 { try files.discard(.first) }
        #expect(try files.file(of: .first) == nil)
        #expect(try files.file(of: other)?.name == "y")
        try files.discard(other)
        #expect(try files.file(of: JobID(41)) == nil)
        // The next start looks for leftovers.
        #expect(try files.unsettledJobs() == [JobID(41)])
    }

    @Test func onlyRegularFilesOfTheirOwnAreKept() throws {
        let source = try folder.write("abc".utf8, to: "real")
        #expect(symlink(source, folder.path + "/link") == 0)
        #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
        #expect(link(source, folder.path + "/hard") == 0)
        for name in ["link", "pipe", ".", "/dev/null"] {
            let path = name.hasPrefix("/") ? name : folder.path + "/" + name
            let error = #expect(throws: JobFilesError.self) { try files.keep(path, of: .first, name: "x") }
            #expect(error == .notRegular(path: path))
        }
        #expect(throws: JobFilesError.hasOtherNames(path: source)) {
            try files.keep(source, of: .first, name: "x")
        }
        #expect(throws: JobFilesError.self) { try files.keep(folder.path + "/none", of: .first, name: "x") }
        #expect(unlink(folder.path + "/hard") == 0)
        for name in ["", "a/b", "..", "a\0b", String(repeating: "x", count: 256)] {
            #expect(throws: JobFilesError.invalidName) { try files.keep(source, of: .first, name: name) }
        }
        #expect(try files.file(of: JobID(41)) == nil)
        #expect(try String(contentsOfFile: source, encoding: .utf8) == "abc")
    }

    private static var hasOtherFileSystem: Bool {
        var (one, other) = (stat(), stat())
        return stat(FileManager.default.temporaryDirectory.path, &one) == 0 && stat("/dev/shm", &other) == 0
            && one.st_dev != other.st_dev && access("/dev/shm", W_OK) == 0
    }

    @Test(.enabled("/dev/shm is on the same file system") { hasOtherFileSystem })
    func aFileOnAnotherFileSystemIsRefused() throws {
        let other = try TemporaryFolder(in: "/dev/shm")
        let source = try other.write("abc".utf8, to: "out")
        #expect(throws: JobFilesError.otherFileSystem(path: source, folder: files.folder)) {
            try files.keep(source, of: .first, name: "out")
        }
        #expect(access(source, F_OK) == 0)
    }

    @Test func damageIsReported() throws {
        let kept = try files.keep(try folder.write("abc".utf8, to: "a"), of: .first, name: "a")
        #expect(truncate(kept.path, 2) == 0)
        #expect(throws: JobFilesError.damaged(path: kept.path)) { try files.file(of: JobID(41)) }
        let record = folder.path + "/files/0/41/1.kept"
        _ = try folder.write("nonsense".utf8, to: "files/0/41/1.kept")
        #expect(throws: JobFilesError.damaged(path: record)) { try files.file(of: JobID(41)) }
    }

    /// K1: a crash before the record is written leaves no kept file.
    @Test func contentWithoutItsRecordIsNoFile() throws {
        _ = try files.keep(try folder.write("abc".utf8, to: "a"), of: .first, name: "a")
        #expect(unlink(folder.path + "/files/0/41/1.kept") == 0)
        #expect(try files.file(of: JobID(41)) == nil)
        // K2: the content without its record is found and removed.
        #expect(try JobFiles.inside(folder).unsettledJobs() == [JobID(41)])
        try files.settle(JobID(41), keeping: nil)
        #expect(try folder.files().isEmpty)
        #expect(try files.unsettledJobs().isEmpty)
        #expect(!files.isUnsettled(JobID(41)))
    }
}
