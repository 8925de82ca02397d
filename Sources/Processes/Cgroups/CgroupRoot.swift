import Glibc
import Synchronization

/// The cgroup that the service manager has delegated to this program. Below it, this program has a group for itself, and one
/// for each process that it gives one.
public final class CgroupRoot: Sendable {
    /// The controllers that the groups of processes have.
    public let controllers: Set<CgroupController>
    let folder: CgroupFolder

    /// Never reused, so that an old ``Cgroup`` cannot remove a new group.
    private static let count = Atomic<UInt64>(0)
    private static let ownName = "daemon"

    /// Finds the delegated cgroup and moves this program into a group of its own below it, because the kernel enables
    /// controllers only for the groups of a group without processes.
    ///
    /// - Throws: ``CgroupProblem``. The program can continue without cgroups.
    public static func delegated() throws(CgroupProblem) -> CgroupRoot {
        let own = try CgroupFolder.own()
        // A program that executes itself again is already in its group.
        let isInside = own.path.hasSuffix("/" + ownName)
        let folder = isInside ? CgroupFolder(path: String(own.path.dropLast(ownName.count + 1))) : own
        guard folder.isDelegated else { throw .notDelegated(path: folder.path) }
        // A sandbox may have mounted it read-only.
        guard folder.isWritable else { throw .failed(operation: "write to", path: folder.path, code: EROFS) }
        let leaf = CgroupFolder(path: folder.file(ownName))
        guard mkdir(leaf.path, 0o755) == 0 || errno == EEXIST else {
            throw .failed(operation: "create", path: leaf.path, code: errno)
        }
        try move(from: folder, to: leaf)
        return CgroupRoot(folder)
    }

    /// - Parameter folder: A group without processes of its own.
    init(_ folder: CgroupFolder) {
        self.folder = folder
        let offered = Set((folder.read("cgroup.controllers") ?? "").split { $0 == " " || $0 == "\n" }.map(String.init))
        controllers = Set(
            CgroupController.allCases.filter { controller in
                // Losing the error is harmless: the controller counts as missing.
                offered.contains(controller.rawValue)
                    && (try? folder.write("cgroup.subtree_control", "+\(controller.rawValue)")) != nil
            })
    }

    /// Moves all processes: besides this one, for example the command that the unit runs before it.
    private static func move(from folder: CgroupFolder, to leaf: CgroupFolder) throws(CgroupProblem) {
        // A process may start another one while they are moved.
        for _ in 0..<10 {
            let processes = (folder.read("cgroup.procs") ?? "").split(separator: "\n")
            if processes.isEmpty { return }
            for process in processes {
                do throws(CgroupProblem) {
                    try leaf.write("cgroup.procs", String(process))
                } catch .failed(_, _, ESRCH) {
                    // It has ended.
                }
            }
        }
        throw .failed(operation: "empty", path: folder.path, code: EBUSY)
    }

    /// Creates a group for one process, its descendants included.
    public func makeGroup(limits: CgroupLimits = CgroupLimits()) throws(CgroupProblem) -> Cgroup {
        while true {
            let number = Self.count.add(1, ordering: .relaxed).newValue
            let group = CgroupFolder(path: folder.file("process-\(number)"))
            guard mkdir(group.path, 0o755) == 0 else {
                // A dead program has left it.
                if errno == EEXIST { continue }
                throw .failed(operation: "create", path: group.path, code: errno)
            }
            do throws(CgroupProblem) {
                for (file, value) in limits.settings(with: controllers) {
                    // A kernel without swap lacks this file.
                    if file == "memory.swap.max", access(group.file(file), F_OK) != 0 { continue }
                    try group.write(file, value)
                }
                return try Cgroup(group)
            } catch {
                _ = group.remove()
                throw error
            }
        }
    }
}
