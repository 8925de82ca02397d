import Glibc

/// Narrows the permissions of a database's files. Files restored from a backup may be readable by everybody.
enum DatabaseModes {
    /// The mode of new files: the owner writes, members of the group read.
    static let widest: mode_t = 0o640

    /// Removes permissions beyond ``widest`` from the database's files. Call it before SQLite opens the database, since
    /// SQLite creates its other files with the database's mode.
    ///
    /// - Returns: A sentence for each file that was changed or could not be changed.
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
                    "\(path) has the mode \(octal(mode)) and stays accessible to other users (\(String(cString: strerror(errno)))). "
                    + "Make the daemon's user its owner (chown)."
            }
            return "\(path) had the mode \(octal(mode)); narrowed to \(octal(narrower))"
        }
    }

    private static func octal(_ mode: mode_t) -> String { "0" + String(mode, radix: 8) }
}
