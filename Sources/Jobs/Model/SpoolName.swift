/// The name of a file in the spool, such as `m3x0k2a1-…-…`: the time of its creation, a secret random number
/// and, if the file is complete, a fingerprint of its content, all in base 36. The name of a file that is being written
/// ends with `.part`.
package struct SpoolName: Hashable, Sendable {
    /// The end of the name of a file that is being written.
    package static let unfinished = ".part"

    package let text: String
    package let keptAt: Timestamp
    /// The fingerprint, which is the same for files with the same content; nil for an incomplete file.
    package let print: String?

    /// Creates the name of a file that is not written yet.
    package init(keptAt: Timestamp) {
        let secret = UInt128.random(in: UInt128.min...UInt128.max)
        self.init(
            text: String(keptAt.milliseconds, radix: 36) + "-" + String(secret, radix: 36), keptAt: keptAt, print: nil)
    }

    /// Returns nil for a name that the spool cannot have created, such as one that leads out of the folder.
    package init?(_ text: some StringProtocol) {
        let text = Substring(text)
        let stem = text.hasSuffix(Self.unfinished) ? text.dropLast(Self.unfinished.count) : text[...]
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 3, let moment = Int64(parts[0], radix: 36), moment >= 0,
            parts.dropFirst().allSatisfy({ UInt128($0, radix: 36) != nil }),
            stem.utf8.allSatisfy({ $0 != UInt8(ascii: "+") })
        else { return nil }
        self.init(
            text: String(text), keptAt: Timestamp(milliseconds: moment),
            print: parts.count == 3 ? String(parts[2]) : nil)
    }

    private init(text: String, keptAt: Timestamp, print: String?) {
        self.text = text
        self.keptAt = keptAt
        self.print = print
    }

    /// Whether the file was being written.
    package var isUnfinished: Bool { text.hasSuffix(Self.unfinished) }

    /// The name of this file when its content is complete.
    package func whole(_ content: Fingerprint) -> SpoolName {
        let print = String(UInt64(bitPattern: content.value), radix: 36)
        return SpoolName(text: text + "-" + print, keptAt: keptAt, print: print)
    }
}
