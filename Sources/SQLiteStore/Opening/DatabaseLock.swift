import CCrashMark
import Glibc
import Jobs
import Synchronization

/// The right to write to a database, which one process at a time holds (P13). It is a lock on the file
/// `<database>-lock`.
///
/// The kernel releases the lock when the process ends, however it ends. The file stays: if it were removed, two
/// processes could each lock a different file of that name.
public final class DatabaseLock: Sendable {
    /// The canonical path of the database that this lock protects.
    public let databasePath: String
    private let state: Mutex<State>

    private struct State {
        /// Nil once the lock is released.
        var descriptor: Int32?
        var role: LockHolder.Role?
        var marks: LockMarks
        var database: HeldDatabase?
        var marksCrashes = false
    }

    private init(databasePath: String, descriptor: Int32) {
        self.databasePath = databasePath
        let marks = Self.read(descriptor, atMost: Int(CRASH_MARK_OFFSET)).prefix { $0 != "\0" }.split(
            separator: "\n", maxSplits: 3, omittingEmptySubsequences: false)
        var found = marks.count > 2 ? LockMarks(marks[2]) : LockMarks()
        found.noteCrash(Self.read(descriptor, atMost: Int(CRASH_MARK_BYTES), from: off_t(CRASH_MARK_OFFSET)))
        state = Mutex(State(descriptor: descriptor, marks: found))
    }

    /// Acquires the lock, or fails at once.
    ///
    /// - Parameter role: The role to record in the lock file.
    /// - Throws: ``StoreOpenError/locked(path:pid:)`` if another process holds the lock. Trying again later is safe.
    public static func acquire(
        forDatabaseAt path: String, as role: LockHolder.Role = .command
    ) throws(StoreOpenError) -> DatabaseLock {
        let lock = try take(forDatabaseAt: path, blocking: false)
        lock.tell(role)
        return lock
    }

    /// Acquires the lock without recording who holds it.
    ///
    /// - Parameter blocking: Whether to block the calling thread until the lock is free.
    static func take(forDatabaseAt path: String, blocking: Bool) throws(StoreOpenError) -> DatabaseLock {
        let location = try DatabaseLocation(path)
        // Do not create a lock file next to another program's file.
        if access(location.lockPath, F_OK) != 0 {
            do throws(StoreOpenError) {
                try SQLiteJobStore.checkHeader(ofDatabaseAt: location.path)
            } catch {
                if error.isOfAnotherProgram { throw error }
                // Opening the database reports all other errors in more detail.
            }
        }
        let descriptor = Glibc.open(location.lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            if code == EACCES || code == EROFS { throw .readOnlyDirectory(path: location.directory) }
            if code == ENOSPC { throw .diskFull(path: location.directory, freeBytes: 0, neededBytes: 4096) }
            throw .system(operation: "open the lock file", path: location.lockPath, code: code)
        }
        while flock(descriptor, blocking ? LOCK_EX : LOCK_EX | LOCK_NB) != 0 {
            let code = errno
            if code == EINTR { continue }
            let holder = readHolder(descriptor)
            Glibc.close(descriptor)
            if code == EWOULDBLOCK { throw .locked(path: location.path, pid: holder.pid) }
            throw .system(operation: "lock", path: location.lockPath, code: code)
        }
        location.giveToOwner(descriptor, mode: 0o600)
        // Only the owner may open the file, because any process that can open it can take the lock and so prevent every
        // daemon from starting.
        _ = fchmod(descriptor, 0o600)
        return DatabaseLock(databasePath: location.path, descriptor: descriptor)
    }

    /// Records the holder's role in the lock file, for people and for processes that decide whether to wait. The lock
    /// itself does not depend on it.
    func tell(_ role: LockHolder.Role) {
        state.withLock { state in
            state.role = role
            Self.write(state)
        }
    }

    /// The marks of the previous holder and of this one, kept in the lock file for the next holder.
    var marks: LockMarks { state.withLock(\.marks) }

    /// How the previous process that held the lock and ran jobs ended; `.unexplained` if it left no mark.
    public var lastEnd: LastEnd { state.withLock(\.marks.lastEnd) ?? .unexplained }

    /// Records that this process ends because it cannot use the database, so that the next process does not count its
    /// running jobs as crashed.
    public func noteStoreStopped() { note { $0.noteStoreStopped() } }

    /// Removes the marks about the previous process that held the lock. Call it once ``lastEnd`` was used.
    public func forgetLastEnd() {
        note { marks in
            marks.lastEnd = nil
            marks.abandoned = 0
        }
    }

    /// Marks crashes in the lock file, from now on until the lock is released: if this process raises a fatal signal or
    /// calls `exit`, the next process can distinguish that from a kill. Installs handlers for the fatal signals. After
    /// a handler has run, the process ends as it would have ended without it.
    public func marksCrashes() {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return }
            state.marksCrashes = true
            crash_mark_into(descriptor)
        }
    }

    func note(_ change: (inout LockMarks) -> Void) {
        state.withLock { state in
            let before = state.marks
            change(&state.marks)
            if state.marks != before { Self.write(state) }
        }
    }

    private static func write(_ state: State) {
        guard let descriptor = state.descriptor else { return }
        let holder = LockHolder(pid: state.role == nil ? nil : getpid(), role: state.role)
        let text = Array((holder.text + (state.marks.isEmpty ? "" : state.marks.text + "\n")).utf8)
        // Writes the new text before it truncates the file, so that no reader sees an empty file.
        _ = pwrite(descriptor, text, text.count, 0)
        _ = ftruncate(descriptor, off_t(text.count))
    }

    /// Locks the database file itself until this lock is released. No connection to the database may be open in this
    /// process.
    func holdDatabase(_ location: DatabaseLocation) throws(StoreOpenError) -> HeldDatabase {
        try state.withLock { (state) throws(StoreOpenError) in
            state.database.take()?.release()
            let held = try HeldDatabase.take(location)
            state.database = held
            return held
        }
    }

    /// The current holder of the lock; nil if the lock is free. Takes a shared lock only for the duration of the check.
    ///
    /// - Throws: ``StoreOpenError`` if the lock file cannot be opened.
    public static func holder(ofDatabaseAt path: String) throws(StoreOpenError) -> LockHolder? {
        let location = try DatabaseLocation(path)
        let descriptor = Glibc.open(location.lockPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            let code = errno
            // The lock has never been held.
            if code == ENOENT { return nil }
            // Only the lock file's owner may open it, but members of the daemon's group may read the database. For them
            // the kernel's list of locks names the holder.
            if code == EACCES { return KernelLocks.holder(of: location.lockPath) }
            throw .system(operation: "open the lock file", path: location.lockPath, code: code)
        }
        defer { Glibc.close(descriptor) }
        if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return nil }
        return readHolder(descriptor)
    }

    /// Releases the lock. Close the store first.
    public func release() {
        state.withLock { state in
            state.database.take()?.release()
            if let open = state.descriptor {
                // The number of the closed descriptor may be reused for another file.
                if state.marksCrashes { crash_mark_into(-1) }
                // Without this, a reader could mistake the next holder for this one.
                if state.marks.isEmpty {
                    _ = ftruncate(open, 0)
                } else {
                    state.role = nil
                    Self.write(state)
                }
                // Closing alone would not release the lock while a forked child that has not yet started its program
                // holds a copy of the descriptor.
                flock(open, LOCK_UN)
                Glibc.close(open)
            }
            state.descriptor = nil
        }
    }

    var heldDatabase: HeldDatabase? { state.withLock(\.database) }

    var isHeld: Bool { state.withLock { $0.descriptor != nil } }

    deinit { release() }

    private static func readHolder(_ descriptor: Int32) -> LockHolder { LockHolder(read(descriptor, atMost: 32)) }

    private static func read(_ descriptor: Int32, atMost count: Int, from offset: off_t = 0) -> String {
        var buffer = [UInt8](repeating: 0, count: count)
        let count = pread(descriptor, &buffer, buffer.count, offset)
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }
}
