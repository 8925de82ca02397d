/// A file that a caller has sent to the daemon for a job, as the job's input names it: `spool:NAME` or
/// `spool:NAME/OWN-NAME`, where NAME is its name in the spool.
package struct SpooledFile: Hashable, Sendable {
    /// The beginning of every value that names such a file.
    package static let prefix = "spool:"

    /// The name in the spool.
    package let name: SpoolName
    /// The text after the name in the spool: empty, or a slash and whatever the caller wrote.
    package let suffix: Substring

    /// Returns nil for a value that does not name such a file.
    package init?(_ value: String) {
        guard value.hasPrefix(Self.prefix) else { return nil }
        let rest = value.dropFirst(Self.prefix.count)
        let end = rest.utf8.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard let name = SpoolName(rest[..<end]), !name.isUnfinished else { return nil }
        self.name = name
        suffix = rest[end...]
    }

    /// The file's own name, which the caller chose: the last part of the suffix. Nil if there is none, or if it cannot
    /// be the name of a file.
    package var ownName: String? {
        let parts = suffix.utf8.split(separator: UInt8(ascii: "/"))
        let name = parts.last.flatMap { String($0) } ?? ""
        let isName = (1...255).contains(name.utf8.count) && name != "." && name != ".." && !name.utf8.contains(0)
        return isName ? name : nil
    }
}
