/// Limits of all processes in a cgroup together. A limit whose controller is missing has no effect.
public struct CgroupLimits: Sendable, Equatable {
    /// Bytes, without swap. If the group needs more, the kernel kills all its processes.
    public var memory: UInt64?
    /// The number of processors, such as 0.5. If the group needs more, it has to wait.
    public var processors: Double?
    /// The number of processes and threads. Beyond it, creating one fails.
    public var processes: UInt64?

    public init(memory: UInt64? = nil, processors: Double? = nil, processes: UInt64? = nil) {
        self.memory = memory
        self.processors = processors
        self.processes = processes
    }

    /// The values to write into the files of the cgroup.
    func settings(with controllers: Set<CgroupController>) -> [(file: String, value: String)] {
        var settings: [(String, String)] = []
        if controllers.contains(.memory), let memory {
            settings += [("memory.max", "\(memory)"), ("memory.swap.max", "0"), ("memory.oom.group", "1")]
        }
        if controllers.contains(.cpu), let processors {
            // The kernel refuses less than a millisecond.
            let period = 100_000
            let quota = processors.isFinite ? min(max(processors, 0.01), 100_000) * Double(period) : nil
            settings.append(("cpu.max", "\(quota.map { "\(Int($0))" } ?? "max") \(period)"))
        }
        if controllers.contains(.pids), let processes { settings.append(("pids.max", "\(processes)")) }
        return settings
    }
}

public enum CgroupController: String, Sendable, CaseIterable {
    case memory
    case cpu
    case pids
}
