import Glibc

/// The files of a database that was restored from a backup may be open to everybody, as the backup was.
enum DatabaseModes {
    /// As new ones are made: the owner writes, members of the group read.
    static let widest: mode_t = 0o640

    /// Takes from the database's files the permissions that go beyond ``widest``. To be called before SQLite opens them,
    /// which makes its other files with the mode of the database.
    ///
    /// - Returns: A sentence for each file that was changed, or that belongs to somebody else.
    static func narrow(_ database: String) -> [String] {
        ["", "-wal", "-shm"].compactMap { suffix in
            let path = database + suffix
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            let mode = status.st_mode & 0o7777
            guard mode & ~widest != 0 else { return nil }
            let narrower = mode & widest
            guard chmod(path, narrower) == 0 else {
                return
                    "\(path) has the mode \(octal(mode)) and stays open to others (\(String(cString: strerror(errno)))). "
                    + "Give it to the daemon's user: chown."
            }
            return "\(path) had the mode \(octal(mode)); narrowed to \(octal(narrower))"
        }
    }

    private static func octal(_ mode: mode_t) -> String { "0" + String(mode, radix: 8) }
}
