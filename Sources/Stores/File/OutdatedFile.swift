import Glibc

extension StoreFactory {
    /// Whether a daemon has used a database on a server since this file was last used. Finds only a daemon whose home
    /// is in the folder of the file. A file for which this is true contains old jobs, and must not receive new ones.
    public static func isOutdated(fileAt path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let home = folder + "/postgresql"
        guard HomeDatabase.isBound(home), let server = lastUse(of: home + "/daemon") else { return false }
        // The lock is next to the file itself.
        guard let real = realpath(path, nil) else { return false }
        defer { free(real) }
        return lastUse(of: String(cString: real)).map { $0 < server } ?? true
    }

    /// When the lock of a database was last taken or released; nil if it never was.
    private static func lastUse(of path: String) -> Duration? {
        var status = stat()
        guard stat(path + "-lock", &status) == 0 else { return nil }
        let time = status.st_mtim
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
