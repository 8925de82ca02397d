import Glibc

/// Checks that the process can open enough files. Its libraries (SwiftNIO, libdispatch) crash when they cannot open
/// theirs, so this check comes first.
enum FileLimit {
    /// Twice as many files as a start opens.
    private static let needed = 64

    /// Ends the process with status 74 if it may open too few files.
    static func require() {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else {
                let reason = String(cString: strerror(errno))
                let line =
                    "halyard-worker: Only \(opened.count) more files can be opened (\(reason)), and halyard-worker needs \(needed) to start. Raise the limit: LimitNOFILE= of the unit, or ulimit -n.\n"
                _ = write(STDERR_FILENO, line, line.utf8.count)
                exit(74)
            }
            opened.append(descriptor)
        }
    }
}
