import Glibc

extension StoreFactory {
    /// Whether a daemon has used a database on a server since this file was last used. Its home is in the folder of the file,
    /// unless another one is configured. Such a file has jobs of the past, and must not receive new ones.
    public static func isOutdated(fileAt path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
        guard let server = lastUse(of: folder + "/postgresql/daemon") else { return false }
        return lastUse(of: path).map { $0 < server } ?? true
    }

    /// When the lock of a database was last taken or released; nil if it never was.
    private static func lastUse(of path: String) -> Duration? {
        var status = stat()
        guard stat(path + "-lock", &status) == 0 else { return nil }
        let time = status.st_mtim
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
