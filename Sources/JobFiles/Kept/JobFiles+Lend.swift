import CLinux
import Glibc
import Jobs
import Synchronization

/// Programs get kept files as clones or as links.
///
/// K3. The daemon knows that a content is intact while its size and its change time (ctime) are those that it noted when it
///     last looked: in ``JobFiles/Loan`` while the file is lent, otherwise in the size and the modification time of the
///     record. After any other change of the inode, the SHA-256 decides, also after a start. From such a change until the
///     last loan has ended, it decides at every look: writing through a mapping (mmap) need not move the change time again.
/// K4. The record of a content that was changed says so, so nobody gets the file again.
extension JobFiles {
    /// A kept file that programs have by a link.
    struct Loan {
        /// The number of links that were not taken back.
        var count = 0
        var facts: ContentFacts
        /// Whether the inode was changed during the loan (K3).
        var isTouched = false
    }

    /// Gives a program the file that an attempt kept: a clone (`FICLONE`) where the file system can do that, otherwise a
    /// hard link, or a symbolic link to another file system. It is never copied. End the loan with ``takeBack(_:)``.
    ///
    /// - Parameter path: The path that the program gets.
    /// - Returns: Nil if the attempt kept no file.
    /// - Throws: ``JobFilesError``, ``JobFilesError/damaged(path:)`` if the content was changed. Retrying is safe after any
    ///   other error.
    public func lend(_ lease: Lease, at path: String) throws(JobFilesError) -> LentFile? {
        for _ in 1...Self.maxLooks {
            guard let (file, facts) = try intactContent(of: lease) else { return nil }
            if try clone(file, to: path) {
                // The content must not have changed before it was cloned.
                if ContentFacts(try file.facts()) == facts { return LentFile(lease: lease, path: path, isClone: true) }
                try Folder.unlinkFile(path)
                continue
            }
            // The lock keeps other loans from changing the inode in between.
            let isLent = try loans.withLock { (loans) throws(JobFilesError) in
                guard ContentFacts(try file.facts()) == facts else { return false }
                guard link(file.path, path) == 0 || symlink(file.path, path) == 0 else {
                    throw .failed(action: "linking", path: path, errno: errno)
                }
                loans[lease, default: Loan(facts: facts)].count += 1
                loans[lease]?.facts = ContentFacts(try file.facts())
                return true
            }
            if isLent { return LentFile(lease: lease, path: path, isClone: false) }
        }
        throw .changed(path: places.content(lease))
    }

    /// Ends a loan, after the program and everything that it started has ended. Removes the link.
    ///
    /// - Returns: Whether the content is as it was. If not, the file is marked as damaged.
    /// - Throws: ``JobFilesError`` if the content cannot be read. The loan has ended; the next one reads the content again.
    public func takeBack(_ lent: LentFile) throws(JobFilesError) -> Bool {
        if lent.isClone { return true }
        do throws(JobFilesError) {
            for _ in 1...Self.maxLooks {
                // The job may have been pruned.
                guard let (file, facts) = try intactContent(of: lent.lease) else { break }
                let isBack = try loans.withLock { (loans) throws(JobFilesError) in
                    guard ContentFacts(try file.facts()) == facts else { return false }
                    // Whatever replaced the link is removed with the program's folder.
                    _ = unlink(lent.path)
                    // The program may have changed the mode.
                    guard fchmod(file.descriptor, 0o400) == 0 else { throw file.failure("protecting") }
                    let now = ContentFacts(try file.facts())
                    loans[lent.lease]?.facts = now
                    if Self.end(lent, &loans) { note(now, lent.lease) }
                    return true
                }
                if isBack { return true }
            }
        } catch {
            _ = loans.withLock { Self.end(lent, &$0) }
            guard case .damaged = error else { throw error }
            return false
        }
        _ = loans.withLock { Self.end(lent, &$0) }
        return true
    }

    /// Waits until the clock of the file system has moved on, which takes a few milliseconds. A change of a file that was
    /// linked before then has another change time than the link.
    public static func waitForNextChangeTime() {
        var (begin, now) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME_COARSE, &begin)
        var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
        // A clock that an administrator stops or sets back must not keep the program from starting.
        for _ in 1...50 {
            nanosleep(&pause, nil)
            clock_gettime(CLOCK_REALTIME_COARSE, &now)
            if (now.tv_sec, now.tv_nsec) != (begin.tv_sec, begin.tv_nsec) { return }
        }
    }

    /// How often a content is looked at that keeps changing.
    private static let maxLooks = 8

    /// Returns whether it was the last loan of the file.
    private static func end(_ lent: LentFile, _ loans: inout [Lease: Loan]) -> Bool {
        guard let loan = loans[lent.lease] else { return false }
        loans[lent.lease]?.count -= 1
        guard loan.count <= 1 else { return false }
        loans[lent.lease] = nil
        return true
    }

    // MARK: Damage

    /// Returns the file that an attempt kept, after its content was found to be intact; nil if it kept none.
    ///
    /// - Throws: ``JobFilesError``, ``JobFilesError/damaged(path:)`` if the content was changed.
    public func intactFile(of lease: Lease) throws(JobFilesError) -> KeptFile? {
        guard try intactContent(of: lease) != nil else { return nil }
        return try file(of: lease)
    }

    /// Opens the content that an attempt kept, and checks it (K3).
    private func intactContent(of lease: Lease) throws(JobFilesError) -> (file: OpenFile, facts: ContentFacts)? {
        for _ in 1...Self.maxLooks {
            guard let record = try record(of: lease) else { return nil }
            let file = try OpenFile.content(places.content(lease))
            // Under the lock, since other loans change the inode and note that under it.
            let (facts, isIntact) = try loans.withLock { (loans) throws(JobFilesError) in
                let facts = ContentFacts(try file.facts())
                guard let loan = loans[lease] else { return (facts, record.notes(facts)) }
                if loan.facts != facts { loans[lease]?.isTouched = true }
                return (facts, loans[lease]?.isTouched == false)
            }
            if isIntact { return (file, facts) }
            let digest = try digest(of: file)
            // Somebody may have changed it while it was read.
            guard ContentFacts(try file.facts()) == facts else { continue }
            guard digest.sha256 == record.kept.sha256 else {
                // A reader without permission to mark it reports the damage as well.
                try? markDamaged(record.kept, lease)
                throw .damaged(path: file.path)
            }
            loans.withLock { loans in
                if loans[lease] == nil { note(facts, lease) } else { loans[lease]?.facts = facts }
            }
            return (file, facts)
        }
        throw .changed(path: places.content(lease))
    }

    /// Notes in the record that the content is intact.
    private func note(_ facts: ContentFacts, _ lease: Lease) {
        // Without a note, for example by a reader who does not own the record, the next look reads the content again.
        if let record = try? OpenFile(places.record(lease), O_RDONLY) { try? facts.note(in: record) }
    }

    /// - Returns: Whether the path is a clone now. False if the file system cannot clone this file.
    private func clone(_ file: OpenFile, to path: String) throws(JobFilesError) -> Bool {
        let copy = try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o400)
        if ioctl(copy.descriptor, UInt(halyard_clone_file), file.descriptor) == 0 { return true }
        try Folder.unlinkFile(path)
        return false
    }
}

extension OpenFile {
    /// Opens a content for reading. A program that has it by a link may have removed the permission to read it, which the
    /// owner restores.
    static func content(_ path: String) throws(JobFilesError) -> OpenFile {
        do throws(JobFilesError) {
            return try OpenFile(path, O_RDONLY)
        } catch {
            guard case .failed(_, _, EACCES) = error, fchmodat(AT_FDCWD, path, 0o400, 0) == 0 else { throw error }
            return try OpenFile(path, O_RDONLY)
        }
    }
}

/// A kept file that a program has.
public struct LentFile: Sendable, Hashable {
    /// The attempt that kept the file.
    public let lease: Lease
    /// The path that the program has.
    public let path: String
    /// Whether the program has a clone, whose changes do not affect the kept file.
    public let isClone: Bool

    /// Creates a description.
    public init(lease: Lease, path: String, isClone: Bool) {
        self.lease = lease
        self.path = path
        self.isClone = isClone
    }
}

/// The facts about a content that change whenever somebody changes it.
struct ContentFacts: Hashable {
    private let device: UInt64
    private let inode: UInt64
    let size: Int64
    private let modified: Time
    let changed: Time

    struct Time: Hashable {
        let seconds: Int
        let nanoseconds: Int

        init(_ time: timespec) { (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec) }
        var timespec: Glibc.timespec { Glibc.timespec(tv_sec: seconds, tv_nsec: nanoseconds) }
    }

    init(_ facts: stat) {
        device = UInt64(facts.st_dev)
        inode = UInt64(facts.st_ino)
        size = Int64(facts.st_size)
        modified = Time(facts.st_mtim)
        changed = Time(facts.st_ctim)
    }

    /// Sets the record's modification time, which names the change time of an intact content (K3).
    func note(in record: OpenFile) throws(JobFilesError) {
        let times = [changed.timespec, changed.timespec]
        guard futimens(record.descriptor, times) == 0 else { throw record.failure("writing") }
    }
}
