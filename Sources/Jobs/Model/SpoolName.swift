/// The name of a file in the spool, such as `m3x0k2a1-…-…`: the time of its creation, a secret random number
/// and, if the file is complete, a fingerprint of its content, all in base 36. If other daemons cannot read the file, the
/// identity of the one that keeps it follows. The name of a file that is being written ends with `.part`.
package struct SpoolName: Hashable, Sendable {
    /// The end of the name of a file that is being written.
    package static let unfinished = ".part"

    package let text: String
    package let keptAt: Timestamp
    /// The fingerprint, which is the same for files with the same content; nil for an incomplete file.
    package let print: String?
    /// The identity of the only daemon that can read the file; nil if every daemon of the database can.
    package let home: String?

    /// Creates the name of a file that is not written yet.
    package init(keptAt: Timestamp) {
        let secret = UInt128.random(in: UInt128.min...UInt128.max)
        self.init(
            text: String(keptAt.milliseconds, radix: 36) + "-" + String(secret, radix: 36), keptAt: keptAt, print: nil,
            home: nil)
    }

    /// Returns nil for a name that the spool cannot have created, such as one that leads out of the folder.
    package init?(_ text: some StringProtocol) {
        let text = Substring(text)
        let stem = text.hasSuffix(Self.unfinished) ? text.dropLast(Self.unfinished.count) : text[...]
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
        guard (2...4).contains(parts.count), let moment = Int64(parts[0], radix: 36), moment >= 0,
            parts.dropFirst().allSatisfy({ UInt128($0, radix: 36) != nil }),
            stem.utf8.allSatisfy({ $0 != UInt8(ascii: "+") })
        else { return nil }
        self.init(
            text: String(text), keptAt: Timestamp(milliseconds: moment),
            print: parts.count > 2 ? String(parts[2]) : nil,
            home: parts.count > 3 ? UInt128(parts[3], radix: 36).map(Self.identity) : nil)
    }

    private init(text: String, keptAt: Timestamp, print: String?, home: String?) {
        self.text = text
        self.keptAt = keptAt
        self.print = print
        self.home = home
    }

    /// The identity with this number, as the file `daemon-id` contains it.
    private static func identity(_ number: UInt128) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    /// Whether the file was being written.
    package var isUnfinished: Bool { text.hasSuffix(Self.unfinished) }

    /// The name of this file when its content is complete.
    ///
    /// - Parameter home: The identity of the only daemon that can read the file, 32 hexadecimal digits.
    package func whole(_ content: Fingerprint, home: String? = nil) -> SpoolName {
        let print = String(UInt64(bitPattern: content.value), radix: 36)
        let number = home.flatMap { UInt128($0, radix: 16) }
        let ending = number.map { "-" + String($0, radix: 36) } ?? ""
        return SpoolName(
            text: text + "-" + print + ending, keptAt: keptAt, print: print, home: number.map(Self.identity))
    }
}
