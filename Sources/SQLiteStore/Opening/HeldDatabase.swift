import CFiles
import Glibc

/// The database file, held open and locked. The lock belongs to the file itself (its device and inode), so a process
/// that opens the file under another name finds it locked.
///
/// Closing the descriptor would drop the locks that SQLite holds on the file in this process (they are fcntl locks), so
/// the descriptor stays open until every connection is closed.
struct HeldDatabase: Sendable {
    let descriptor: Int32
    let identity: FileIdentity

    /// - Throws: ``StoreOpenError/lockedUnderAnotherName(path:pid:)`` when another process holds the file.
    static func take(_ location: DatabaseLocation) throws(StoreOpenError) -> HeldDatabase {
        let path = location.path
        let descriptor = try openFile(path, O_RDWR | O_NOFOLLOW)
        do throws(StoreOpenError) {
            try location.checkNames(descriptor)
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                let code = errno
                if code == EINTR { continue }
                guard code == EWOULDBLOCK else { throw .system(operation: "lock", path: path, code: code) }
                throw .lockedUnderAnotherName(path: path, pid: KernelLocks.holder(of: path)?.pid)
            }
            return HeldDatabase(descriptor: descriptor, identity: FileIdentity(try status(of: descriptor, path)))
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    func release() {
        // Closing alone would not release the lock while a forked child that has not yet started its program holds a
        // copy of the descriptor.
        flock(descriptor, LOCK_UN)
        Glibc.close(descriptor)
    }
}

extension DatabaseLocation {
    /// Refuses a file with a second name: the write-ahead log belongs to one name, and its contents would be missing
    /// under the other. Removes the draft's name if a crash left it.
    func checkNames(_ descriptor: Int32) throws(StoreOpenError) {
        let found = try status(of: descriptor, path)
        guard found.isRegularFile else { throw .notARegularFile(path: path) }
        if isDraftToo(found), unlink(draftPath) != 0 {
            throw .system(operation: "remove the leftover", path: draftPath, code: errno)
        }
        try checkOneName(descriptor)
    }

    /// Makes the same checks for a process that only reads. Removes nothing.
    func checkNames() throws(StoreOpenError) {
        // Opened with O_PATH: closing such a descriptor drops no locks.
        let descriptor = Glibc.open(path, halyard_open_as_path | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .system(operation: "inspect", path: path, code: errno) }
        defer { Glibc.close(descriptor) }
        try checkOneName(descriptor)
    }

    private func checkOneName(_ descriptor: Int32) throws(StoreOpenError) {
        let status = try status(of: descriptor, path)
        if status.st_nlink > 1, !isDraftToo(status) { throw .manyNames(path: path, count: Int(status.st_nlink)) }
        if halyard_is_mount_point(descriptor) != 0 { throw .mountedAlone(path: path) }
    }

    /// Whether the file's second name is that of the draft, left by a crash between the two steps that name a new
    /// database.
    private func isDraftToo(_ status: stat) -> Bool {
        status.st_nlink == 2 && FileIdentity(at: draftPath) == FileIdentity(status)
    }
}
