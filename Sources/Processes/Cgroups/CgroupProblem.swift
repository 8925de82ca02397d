import Glibc

/// The reason why there is no cgroup. Processes can run without one: their limits and their end are then less exact.
public enum CgroupProblem: Error, Sendable, Equatable {
    /// The machine has no cgroup v2, or this program cannot see it.
    case noHierarchy
    /// The service manager manages the cgroup of this program itself.
    case notDelegated(path: String)
    case failed(operation: String, path: String, code: Int32)
}

extension CgroupProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noHierarchy: "This machine has no cgroup v2. Mount it at /sys/fs/cgroup, as systemd does by default."
        case .notDelegated(let path):
            "The cgroup \(path) is not delegated to this program. Set Delegate=yes in the unit."
        case .failed(let operation, let path, let code):
            "Cannot \(operation) the cgroup \(path): \(String(cString: strerror(code))). "
                + "Set Delegate=yes and ReadWritePaths=/sys/fs/cgroup/system.slice/%n in the unit."
        }
    }
}
