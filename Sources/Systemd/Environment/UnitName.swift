import Glibc

/// The name of the systemd unit to which a process belongs.
public struct UnitName: Sendable, Hashable, CustomStringConvertible {
    /// The name without `.service`.
    public var name: String
    /// Whether a user's service manager runs the unit.
    public var isOfUser: Bool

    /// Finds the unit of a process.
    ///
    /// - Parameter controlGroups: The text of `/proc/PID/cgroup`.
    /// - Returns: Nil if the process belongs to no service.
    public init?(controlGroups: String) {
        // Lines such as 0::/system.slice/halyard.service, or 1:name=systemd:/… with version 1 control groups.
        for line in controlGroups.split(separator: "\n") {
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[0] == "0" || fields[1] == "name=systemd" else { continue }
            let groups = fields[2].split(separator: "/")
            // The process may be in a group that its service has made below its own.
            let isUnit = { (group: Substring) in [".service", ".scope", ".slice"].contains { group.hasSuffix($0) } }
            guard let place = groups.lastIndex(where: isUnit), groups[place].hasSuffix(".service") else { continue }
            name = String(groups[place].dropLast(".service".count))
            isOfUser = groups[..<place].contains { $0.hasPrefix("user@") && $0.hasSuffix(".service") }
            return
        }
        return nil
    }

    /// Returns the unit of this process; nil if it belongs to no service.
    public static func own() -> UnitName? {
        guard let file = fopen("/proc/self/cgroup", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = fread(&bytes, 1, bytes.count, file)
        return UnitName(controlGroups: String(decoding: bytes[..<count], as: UTF8.self))
    }

    /// The command that shows the unit's state, such as `systemctl status halyard`.
    public var statusCommand: String { "systemctl \(isOfUser ? "--user " : "")status \(name)" }

    public var description: String { name }
}
