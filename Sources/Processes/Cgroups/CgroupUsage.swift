/// The resources that all processes of a cgroup used together. A value is nil if the kernel or the missing controller does not offer it.
public struct CgroupUsage: Sendable, Equatable {
    public var userTime: Duration?
    public var systemTime: Duration?
    /// The largest memory of the group at any time, in bytes, with its part of the page cache.
    public var peakMemory: UInt64?
    /// The number of processes that the kernel killed because the group reached its memory limit or the machine ran out of
    /// memory.
    public var outOfMemoryKills: UInt64?

    public init() {}

    /// - Parameter read: Returns the contents of a file of the cgroup, or nil.
    init(reading read: (String) -> String?) {
        let processor = Self.fields(read("cpu.stat"))
        userTime = processor["user_usec"].map { .microseconds(Int64(clamping: $0)) }
        systemTime = processor["system_usec"].map { .microseconds(Int64(clamping: $0)) }
        // memory.peak exists since kernel 5.19.
        peakMemory = read("memory.peak").flatMap { UInt64($0.prefix { $0 != "\n" }) }
        outOfMemoryKills = Self.fields(read("memory.events"))["oom_kill"]
    }

    /// Lines such as `user_usec 1200`.
    private static func fields(_ text: String?) -> [Substring: UInt64] {
        var fields: [Substring: UInt64] = [:]
        for line in (text ?? "").split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, let value = UInt64(words[1]) { fields[words[0]] = value }
        }
        return fields
    }
}
