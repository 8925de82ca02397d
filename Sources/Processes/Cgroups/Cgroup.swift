import Glibc

/// A cgroup for one process and its descendants. It is removed when the process has ended, or when the last reference to
/// it goes away without a process.
public final class Cgroup: Sendable, Equatable {
    let folder: CgroupFolder
    /// Open for writing. The new process writes into it, and so joins the group before it executes its program.
    let members: Int32

    init(_ folder: CgroupFolder) throws(CgroupProblem) {
        self.folder = folder
        members = open(folder.file("cgroup.procs"), O_WRONLY | O_CLOEXEC)
        guard members >= 0 else { throw .failed(operation: "open", path: folder.path, code: errno) }
    }

    deinit {
        close(members)
        // Losing the result is harmless: an empty group costs little, and it goes away with the unit.
        _ = folder.remove()
    }

    public static func == (left: Cgroup, right: Cgroup) -> Bool { left === right }

    /// Kills all processes of the group and of the groups below it.
    ///
    /// - Returns: False on a kernel before 5.14, which does not offer this.
    func kill() -> Bool {
        do throws(CgroupProblem) {
            try folder.write("cgroup.kill", "1")
            return true
        } catch {
            return false
        }
    }

    /// Waits until the group has no processes.
    ///
    /// - Returns: False if it took longer.
    func waitUntilEmpty(atMost limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        let events = open(folder.file("cgroup.events"), O_RDONLY | O_CLOEXEC)
        guard events >= 0 else { return true }
        defer { close(events) }
        var changed = pollfd(fd: events, events: Int16(POLLPRI), revents: 0)
        while true {
            var text = [UInt8](repeating: 0, count: 256)
            // The poll waits for a change since the last time that this file was read.
            let length = pread(events, &text, text.count, 0)
            if !String(decoding: text.prefix(max(0, length)), as: UTF8.self).contains("populated 1") { return true }
            let left = (deadline - .now).components
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else { return false }
            poll(&changed, 1, Int32(clamping: milliseconds))
        }
    }

    func usage() -> CgroupUsage { CgroupUsage(reading: folder.read) }

    func remove() -> Bool { folder.remove() }
}
