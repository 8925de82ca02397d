/// A file that a caller has sent to the daemon for a job, as the job's input names it: `spool:ID/NAME`.
struct SpooledFile {
    /// The name in the spool.
    let id: String
    /// The file's own name, which the caller chose; nil if there is none, or if it cannot be the name of a file.
    let ownName: String?

    private static let prefix = "spool:"

    /// Returns nil for a value that does not name such a file.
    init?(_ value: String) {
        guard value.hasPrefix(Self.prefix) else { return nil }
        let rest = value.dropFirst(Self.prefix.count)
        id = String(rest.prefix { $0 != "/" })
        let isID = id.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF) || byte == UInt8(ascii: "-")
        }
        guard isID, id.utf8.contains(UInt8(ascii: "-")) else { return nil }
        let name = rest.split(separator: "/").dropFirst().last.map(String.init) ?? ""
        let isName = (1...255).contains(name.utf8.count) && name != "." && name != ".." && !name.utf8.contains(0)
        ownName = isName ? name : nil
    }
}
