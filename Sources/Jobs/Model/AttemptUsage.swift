/// The resources that all processes of one attempt used together, stored as `{"processor_ms": 1200, "peak_memory":
/// 52428800, "bytes_read": 4096, "bytes_written": 0}`. A value is nil if it was not measured.
public struct AttemptUsage: Hashable, Sendable, JSONShaped {
    /// The processor time, in the programs themselves and in the kernel for them.
    public var processorTime: Duration?
    /// The largest amount of memory in use at any time, in bytes: of all processes together in a cgroup with the memory
    /// controller, else of one process.
    public var peakMemory: Int64?
    /// The number of bytes read from disks.
    public var bytesRead: Int64?
    /// The number of bytes written to disks.
    public var bytesWritten: Int64?

    /// Creates a value; by default, nothing was measured.
    public init(
        processorTime: Duration? = nil, peakMemory: Int64? = nil, bytesRead: Int64? = nil, bytesWritten: Int64? = nil
    ) {
        self.processorTime = processorTime
        self.peakMemory = peakMemory
        self.bytesRead = bytesRead
        self.bytesWritten = bytesWritten
    }

    /// Parses what ``json`` returns.
    ///
    /// - Throws: ``ShapeProblem`` if a field is not a number.
    public init(json: JSONText, at path: [String]) throws(ShapeProblem) {
        let fields = try JSONFields(json, at: path)
        func number(_ name: String) throws(ShapeProblem) -> Int64? { try fields.integer(name).map(Int64.init) }
        self.init(
            processorTime: try number("processor_ms").map { .milliseconds($0) },
            peakMemory: try number("peak_memory"), bytesRead: try number("bytes_read"),
            bytesWritten: try number("bytes_written"))
    }

    /// The value as a JSON object, without the fields that were not measured.
    public var json: JSONText {
        JSONWriter.text { writer in
            writer.object { object in
                if let processorTime { object.field("processor_ms", processorTime.milliseconds) }
                if let peakMemory { object.field("peak_memory", peakMemory) }
                if let bytesRead { object.field("bytes_read", bytesRead) }
                if let bytesWritten { object.field("bytes_written", bytesWritten) }
            }
        }
    }
}
