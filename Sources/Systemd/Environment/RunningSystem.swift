import Glibc

/// The running system of this machine.
public enum RunningSystem {
    /// A text that differs between two running systems: two machines, also if one was copied from the other, and the same
    /// machine before and after a restart.
    ///
    /// - Parameters:
    ///   - boot: The identifier of the boot; nil to read it from the kernel, which a unit with `ProcSubset=pid` hides.
    ///   - host: The host's name, which differs between containers on one kernel.
    public static func identifier(boot: String?, host: String) -> String {
        let machine = line(of: "/etc/machine-id") ?? ""
        let boot = boot ?? line(of: "/proc/sys/kernel/random/boot_id") ?? ""
        // The identifier of a machine is not for other machines, so only its hash is shown to them.
        return "\(String(hash(machine), radix: 16)) \(boot.filter { $0 != "-" }) \(host)"
    }

    private static func line(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// FNV-1a.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
