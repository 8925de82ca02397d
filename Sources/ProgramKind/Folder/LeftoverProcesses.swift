import CLinux
import Glibc

/// The processes of programs that a killed daemon has left running.
///
/// The processes are found by their environment or working folder, since their parents are gone. The kernel has killed the
/// programs themselves together with the daemon; only their descendants can be left.
struct LeftoverProcesses {
    /// The beginnings of all paths in the folder of all work folders.
    private let prefixes: [[UInt8]]

    init(root: String) {
        var roots = [root]
        if let real = realpath(root, nil) {
            roots.append(String(cString: real))
            free(real)
        }
        prefixes = Set(roots).map { Array("\($0)/".utf8) }
    }

    /// The maximum number of searches for processes that others have started meanwhile.
    private static let maxRounds = 100

    /// Kills all of them. A process that starts others is stopped first, so that none escapes.
    ///
    /// - Returns: How many there were, and those that are left because they could not be killed or were found too late.
    func kill() -> (killed: Int, left: [pid_t]) {
        var known: Set<pid_t> = []
        for _ in 0..<Self.maxRounds {
            let new = find().filter { !known.contains($0) }
            if new.isEmpty { break }
            for pid in new { Glibc.kill(pid, SIGSTOP) }
            known.formUnion(new)
        }
        var left: [pid_t] = []
        for pid in find() {
            if Glibc.kill(pid, SIGKILL) != 0, errno != ESRCH { left.append(pid) }
            known.insert(pid)
        }
        left += find().filter { !known.contains($0) }
        return (known.count, left)
    }

    private func find() -> [pid_t] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [pid_t] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let pid = pid_t(name), pid != getpid(), belongs(pid) { found.append(pid) }
        }
        return found
    }

    private func belongs(_ pid: pid_t) -> Bool {
        var link = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = link.withUnsafeMutableBytes {
            readlink("/proc/\(pid)/cwd", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        if length > 0, isInWorkFolder(link.prefix(length)) { return true }
        return environment(of: pid).split(separator: 0).contains { variable in
            guard let equals = variable.firstIndex(of: UInt8(ascii: "=")) else { return false }
            return isInWorkFolder(variable[(equals + 1)...])
        }
    }

    private func isInWorkFolder(_ path: ArraySlice<UInt8>) -> Bool {
        prefixes.contains { prefix in
            guard path.starts(with: prefix) else { return false }
            // The kernel adds " (deleted)" to the path of a removed folder.
            return WorkFolder.isName(path.dropFirst(prefix.count).prefix { $0 != 0x2F && $0 != 0x20 })
        }
    }

    /// Empty if the process is gone, or belongs to another user.
    private func environment(of pid: pid_t) -> [UInt8] {
        let file = open("/proc/\(pid)/environ", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
