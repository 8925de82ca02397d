import Glibc

/// The threads of all processes of this process's user.
public enum UserThreads {
    /// The number of threads that run now, which ``ProcessLimits/processes`` includes. Processes that end during the count
    /// may be missing.
    public static func count() -> UInt64 {
        guard let folder = opendir("/proc") else { return 0 }
        defer { closedir(folder) }
        var count: UInt64 = 0
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard pid_t(name) != nil else { continue }
            var facts = stat()
            // The folder has one subfolder for each thread, besides its two links to itself.
            if stat("/proc/\(name)/task", &facts) == 0, facts.st_uid == geteuid(), facts.st_nlink > 2 {
                count += UInt64(facts.st_nlink) - 2
            }
        }
        return count
    }
}
