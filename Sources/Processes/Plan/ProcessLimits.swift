/// Resource limits of a process. Each child that it starts gets the same limits of its own, except ``processes``, which
/// counts all processes of the user. A limit that is higher than the one of this process has no effect.
///
/// Core dumps are always off.
public struct ProcessLimits: Sendable, Equatable {
    /// The address space in bytes (`RLIMIT_AS`). Programs that reserve address space without using it, such as Java and
    /// Node.js, need far more than their memory.
    public var addressSpace: UInt64?
    /// The private memory that the process can write to, in bytes (`RLIMIT_DATA`): its heap and its stacks, also those parts
    /// that it does not use. Address space that is only reserved does not count.
    public var data: UInt64?
    /// The processor time (`RLIMIT_CPU`), rounded up to seconds. The process gets SIGXCPU at the limit and SIGKILL two
    /// seconds of processor time later.
    public var processorTime: Duration?
    /// The size in bytes to which the process can extend a file (`RLIMIT_FSIZE`). Beyond it, the process gets SIGXFSZ.
    public var fileSize: UInt64?
    /// The number of open descriptors (`RLIMIT_NOFILE`).
    public var descriptors: UInt64?
    /// The number of processes and threads of the user, including those outside the tree (`RLIMIT_NPROC`). It does not
    /// apply to root.
    public var processes: UInt64?

    public init(
        addressSpace: UInt64? = nil, data: UInt64? = nil, processorTime: Duration? = nil, fileSize: UInt64? = nil,
        descriptors: UInt64? = 1024, processes: UInt64? = nil
    ) {
        self.addressSpace = addressSpace
        self.data = data
        self.processorTime = processorTime
        self.fileSize = fileSize
        self.descriptors = descriptors
        self.processes = processes
    }
}
