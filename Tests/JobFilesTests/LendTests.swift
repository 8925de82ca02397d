import Foundation
import Glibc
import JobFiles
import Jobs
import Testing

/// Programs get kept files, which they cannot change unnoticed.
@Suite struct LendTests {
    private let folder: TemporaryFolder
    private let files: JobFiles
    private let kept: KeptFile

    init() throws {
        folder = try TemporaryFolder()
        files = JobFiles.inside(folder)
        kept = try files.keep(try folder.write("content".utf8, to: "out"), of: .first, name: "out")
    }

    /// Whether the temporary folder is on a file system that clones files, where links are not used.
    private static let clones: Bool = {
        // A failure here also fails each test.
        guard let folder = try? TemporaryFolder(), let source = try? folder.write("x".utf8, to: "out") else {
            return false
        }
        let files = JobFiles.inside(folder)
        guard (try? files.keep(source, of: .first, name: "out")) != nil else { return false }
        return (try? files.lend(.first, at: folder.path + "/link"))?.isClone == true
    }()

    private func lend(_ name: String = "link", from files: JobFiles? = nil) throws -> LentFile {
        let lent = try #require(try (files ?? self.files).lend(.first, at: folder.path + "/" + name))
        JobFiles.waitForNextChangeTime()
        return lent
    }

    private func facts(_ path: String) throws -> stat {
        var facts = stat()
        try #require(stat(path, &facts) == 0)
        return facts
    }

    /// Changes the content like somebody who wants to hide it: neither its size nor its modification time differs.
    private func change(_ path: String) throws {
        let before = try facts(path)
        #expect(chmod(path, 0o600) == 0)
        let file = open(path, O_WRONLY)
        #expect(write(file, "CONTENT", 7) == 7)
        close(file)
        #expect(utimensat(AT_FDCWD, path, [before.st_atim, before.st_mtim], 0) == 0)
        #expect(chmod(path, 0o400) == 0)
        #expect(try facts(path).st_mtim.tv_nsec == before.st_mtim.tv_nsec)
    }

    /// A change time that is noted in the record, so that the content need not be read.
    private func isNoted() throws -> Bool {
        let record = kept.path.dropLast("file".count) + "kept"
        let (noted, changed) = (try facts(String(record)).st_mtim, try facts(kept.path).st_ctim)
        return noted.tv_sec == changed.tv_sec && noted.tv_nsec == changed.tv_nsec
    }

    @Test func aLentFileIsReadAndGivenBack() throws {
        #expect(try isNoted())
        for _ in 1...3 {
            let lent = try lend()
            #expect(try Data(contentsOf: URL(filePath: lent.path)) == Data("content".utf8))
            #expect(try files.takeBack(lent))
            #expect(lent.isClone || access(lent.path, F_OK) != 0)
            unlink(lent.path)
            #expect(try isNoted())
        }
        #expect(try files.lend(Lease(job: JobID(99), attempt: 1), at: folder.path + "/none") == nil)
        #expect(try files.intactFile(of: .first) == kept)
    }

    @Test(.enabled(if: !clones, "files are cloned here")) func aHiddenChangeIsNoticed() throws {
        let lent = try lend()
        try change(lent.path)
        #expect(try !files.takeBack(lent))
        // Nobody gets it again, also not from another process.
        for files in [files, JobFiles.inside(folder)] {
            let damaged = JobFilesError.damaged(path: kept.path)
            #expect(throws: damaged) { try files.lend(.first, at: folder.path + "/again") }
            #expect(throws: damaged) { try files.file(of: .first) }
            #expect(throws: damaged) { try files.intactFile(of: .first) }
            #expect(throws: damaged) { try files.file(of: JobID(41)) }
        }
        // The job can still be pruned.
        try files.remove(JobID(41))
        #expect(try files.file(of: .first) == nil)
    }

    @Test(.enabled(if: !clones, "files are cloned here")) func aChangeBeforeTheDaemonDiedIsNoticedByTheNextOne() throws
    {
        let lent = try lend()
        try change(lent.path)
        let next = JobFiles.inside(folder)
        #expect(throws: JobFilesError.damaged(path: kept.path)) { try next.lend(.first, at: folder.path + "/again") }
    }

    @Test func aLoanOfADaemonThatDiedIsNoDamage() throws {
        _ = try lend()
        let next = JobFiles.inside(folder)
        #expect(try next.takeBack(try lend("again", from: next)))
        #expect(try next.intactFile(of: .first) == kept)
    }

    @Test(.enabled(if: !clones, "files are cloned here")) func otherChangesOfTheInodeAreNoDamage() throws {
        let lent = try lend()
        #expect(chmod(lent.path, 0o644) == 0)
        #expect(link(lent.path, folder.path + "/third") == 0)
        #expect(rename(lent.path, folder.path + "/moved") == 0)
        #expect(try files.takeBack(lent))
        #expect(try facts(kept.path).st_mode & 0o777 == 0o400)
        // The names that remain are removed with the program's folder.
        #expect(unlink(folder.path + "/third") == 0 && unlink(folder.path + "/moved") == 0)
        #expect(try files.intactFile(of: .first) == kept)
        #expect(try isNoted())
    }

    /// Root may read every file, so the thread acts as another user then.
    @Test func aFileWithoutPermissionsStaysUsable() throws {
        let user: uid_t = 64202
        #expect(chown(folder.path, geteuid() == 0 ? user : geteuid(), getegid()) == 0)
        // Glibc declares it in a header that Swift does not import.
        let found = try #require(dlsym(nil, "setfsuid"))
        let act = unsafeBitCast(found, to: (@convention(c) (uid_t) -> CInt).self)
        if geteuid() == 0 { _ = act(user) }
        defer { if geteuid() == 0 { _ = act(0) } }
        let files = JobFiles(folder: folder.path + "/others")
        let kept = try files.keep(try folder.write("content".utf8, to: "other"), of: .first, name: "other")
        #expect(chmod(kept.path, 0) == 0)
        #expect(open(kept.path, O_RDONLY) == -1 && errno == EACCES)
        #expect(try files.file(of: .first) == kept)
        for change in [mode_t(0), 0o200] {
            let lent = try lend("link \(change)", from: files)
            #expect(chmod(kept.path, change) == 0)
            #expect(try files.takeBack(lent))
            #expect(chmod(kept.path, change) == 0)
        }
        #expect(try files.open(kept).read(7, at: 0) == Array("content".utf8))
        #expect(try files.intactFile(of: .first) == kept)
    }

    /// Only the first write to a page in memory moves the change time, and on some file systems not even that one.
    @Test(.enabled(if: !clones, "files are cloned here")) func aChangeThroughAMappingIsNoticed() throws {
        let (first, second) = (try lend("a"), try lend("b"))
        #expect(chmod(first.path, 0o600) == 0)
        let file = open(first.path, O_RDWR)
        defer { close(file) }
        let mapped = mmap(nil, 7, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        let bytes = try #require(mapped == MAP_FAILED ? nil : mapped).assumingMemoryBound(to: UInt8.self)
        defer { munmap(bytes, 7) }
        bytes[0] = UInt8(ascii: "c")
        #expect(try files.takeBack(second))
        bytes[0] = UInt8(ascii: "C")
        #expect(try !files.takeBack(first))
    }

    @Test(.enabled(if: !clones, "files are cloned here")) func everybodyWhoHadAChangedFileLearnsOfIt() throws {
        let (first, second, third) = (try lend("a"), try lend("b"), try lend("c"))
        // One loan that ends is no change for the others.
        #expect(try files.takeBack(first))
        #expect(try !isNoted())
        try change(second.path)
        #expect(try !files.takeBack(third))
        #expect(try !files.takeBack(second))
    }

    /// A record of an earlier release, or of a restored backup.
    @Test(arguments: [false, true]) func aContentWithoutANoteIsReadOnce(isChanged: Bool) throws {
        let record = String(kept.path.dropLast("file".count) + "kept")
        if isChanged { try change(kept.path) }
        #expect(utimensat(AT_FDCWD, record, [timespec(), timespec()], 0) == 0)
        let next = JobFiles.inside(folder)
        if isChanged {
            #expect(throws: JobFilesError.damaged(path: kept.path)) { try next.intactFile(of: .first) }
        } else {
            #expect(try next.intactFile(of: .first) == kept)
            #expect(try isNoted())
        }
    }

    @Test(.enabled(if: clones, "this file system does not clone files")) func aCloneMayBeChanged() throws {
        let lent = try lend()
        #expect(lent.isClone)
        try change(lent.path)
        #expect(try files.takeBack(lent))
        #expect(try files.intactFile(of: .first) == kept)
    }
}
