import CLauncher
import Glibc

/// The folder of a cgroup, with its files.
struct CgroupFolder: Sendable, Equatable {
    let path: String

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func read(_ name: String) -> String? { contents(file(name)).map { String(decoding: $0, as: UTF8.self) } }

    /// Each write is one request to the kernel.
    func write(_ name: String, _ value: String) throws(CgroupProblem) {
        let file = open(file(name), O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw .failed(operation: "open \(name) of", path: path, code: errno) }
        defer { close(file) }
        guard Glibc.write(file, value, value.utf8.count) == value.utf8.count else {
            throw .failed(operation: "set \(name) of", path: path, code: errno)
        }
    }

    /// Whether the service manager leaves the groups below this one to this program.
    ///
    /// systemd marks such a group. For a program without privileges, being allowed to write is enough.
    var isDelegated: Bool {
        for name in ["user.delegate", "trusted.delegate"] {
            var value: UInt8 = 0
            if getxattr(path, name, &value, 1) == 1, value == UInt8(ascii: "1") { return true }
        }
        return geteuid() != 0 && isWritable
    }

    var isWritable: Bool {
        access(path, W_OK) == 0 && access(file("cgroup.procs"), W_OK) == 0
            && access(file("cgroup.subtree_control"), W_OK) == 0
    }

    /// Removes the group and the groups below it. Fails if one of them has processes.
    func remove() -> Bool {
        for name in folders() { _ = CgroupFolder(path: file(name)).remove() }
        return rmdir(path) == 0 || errno == ENOENT
    }

    private func folders() -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 }.map(\.self) }
            let name = String(decoding: bytes, as: UTF8.self)
            if entry.pointee.d_type == DT_DIR, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The folder of the cgroup of this program.
    static func own() throws(CgroupProblem) -> CgroupFolder {
        guard let groups = contents("/proc/self/cgroup"), let mounts = contents("/proc/self/mountinfo"),
            let folder = CgroupFolder(
                groups: String(decoding: groups, as: UTF8.self), mounts: String(decoding: mounts, as: UTF8.self))
        else { throw .noHierarchy }
        return folder
    }

    init(path: String) { self.path = path }

    /// - Parameters:
    ///   - groups: The contents of `/proc/self/cgroup`.
    ///   - mounts: The contents of `/proc/self/mountinfo`.
    init?(groups: String, mounts: String) {
        guard let line = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        let group = line.dropFirst(3)
        // Such a group is outside the cgroup namespace, so this program cannot reach it.
        guard !group.split(separator: "/").contains("..") else { return nil }
        for mount in mounts.split(separator: "\n") {
            // ID parent device ROOT FOLDER options … - TYPE source options
            let fields = mount.split(separator: " ")
            guard let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count, fields[dash + 1] == "cgroup2",
                dash > 4
            else { continue }
            // A container may mount only a part of the hierarchy.
            let root = fields[3] == "/" ? "" : fields[3]
            guard root.isEmpty || group == root || group.hasPrefix("\(root)/") else { continue }
            let rest = group.dropFirst(root.count)
            path = rest == "/" ? String(fields[4]) : "\(fields[4])\(rest)"
            return
        }
        return nil
    }
}
