import Glibc

/// Checks that a start can open enough files. The daemon's libraries (SwiftNIO, libdispatch) crash the process when
/// they cannot open theirs, so this check comes first.
enum FileLimit {
    /// Twice as many files as a start opens.
    static let needed = 64

    static func check() throws(DaemonFailure) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                let code = errno
                throw DaemonFailure(
                    .inputOutput,
                    "Only \(opened.count) more files can be opened (\(String(cString: strerror(code)))), and halyardd needs \(needed) to start. Raise the limit: LimitNOFILE= of the unit, or ulimit -n.",
                    errno: code)
            }
            opened.append(descriptor)
        }
    }
}
