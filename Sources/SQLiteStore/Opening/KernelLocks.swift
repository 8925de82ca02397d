import Glibc

/// The kernel's public list of locks, for callers that may not open a lock file.
enum KernelLocks {
    /// Returns the process that holds the file's lock, or nil if none is listed.
    static func holder(of path: String) -> LockHolder? {
        guard let status = status(at: path), let locks = text(ofFile: "/proc/locks"),
            let pid = holder(of: status, in: locks)
        else { return nil }
        // The command-line program has this name. A custom daemon may have any other name.
        let isCommand = text(ofFile: "/proc/\(pid)/comm") == "halyard\n"
        return LockHolder(pid: pid, role: isCommand ? .command : .daemon)
    }

    /// Finds the file in lines such as `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
    static func holder(of file: stat, in locks: String) -> Int32? {
        let device = UInt64(file.st_dev)
        let major = (device >> 8) & 0xfff | (device >> 32) & ~0xfff
        let minor = device & 0xff | (device >> 12) & ~0xff
        func hex(_ number: UInt64) -> String { (number < 16 ? "0" : "") + String(number, radix: 16) }
        let name = "\(hex(major)):\(hex(minor)):\(file.st_ino)"
        for line in locks.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 5, words[1] == "FLOCK", words[3] == "WRITE", words[5] == name { return Int32(words[4]) }
        }
        return nil
    }
}
