/// How a process ended, and the resources that it and the children that it waited for used.
public struct ProcessEnd: Sendable, Equatable {
    public enum Status: Sendable, Equatable {
        /// The process called `exit` with this code, between 0 and 255.
        case exited(Int32)
        case signalled(Int32, dumpedCore: Bool)
        /// Other code of this program waited for the process first, or the program ignores SIGCHLD.
        case unknown
    }

    public var status: Status
    public var usage: ResourceUsage
    /// Nil if the process had no cgroup.
    public var groupUsage: CgroupUsage?

    public init(status: Status, usage: ResourceUsage = ResourceUsage(), groupUsage: CgroupUsage? = nil) {
        self.status = status
        self.usage = usage
        self.groupUsage = groupUsage
    }
}

/// All values are 0 if the status is ``ProcessEnd/Status/unknown``.
public struct ResourceUsage: Sendable, Equatable {
    public var userTime = Duration.zero
    public var systemTime = Duration.zero
    /// The largest resident memory, in bytes, of a single process, not of the tree.
    public var maxResidentBytes: UInt64 = 0
    /// Bytes that were read from disks, and that were written to the page cache to be written to disks.
    public var bytesRead: UInt64 = 0
    public var bytesWritten: UInt64 = 0

    public init() {}
}
