/// The rules for the names of definitions, graph definitions, queues, nodes and parameters.
package enum Names {
    /// Whether a definition, graph definition or queue may have this name: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes.
    package static func isName(_ name: String) -> Bool {
        isWord(name, first: isLowercaseOrDigit) { isLowercaseOrDigit($0) || ".-_".utf8.contains($0) }
    }

    static let nameRule = "use a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or a digit, at most 64 bytes"

    /// Whether a node or parameter may have this name: `[A-Za-z][A-Za-z0-9_-]*`, at most 64 bytes. It cannot contain a
    /// dot, which separates node and field in `node.field`, and cannot look like the number of a job.
    static func isNodeName(_ name: String) -> Bool {
        isWord(name, first: isLetter) { isLetter($0) || isLowercaseOrDigit($0) || "-_".utf8.contains($0) }
    }

    static let nodeNameRule = "use letters, digits, \"_\" and \"-\", beginning with a letter, at most 64 bytes"

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
    private static func isLowercaseOrDigit(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
    }

    private static func isWord(_ name: String, first: (UInt8) -> Bool, _ other: (UInt8) -> Bool) -> Bool {
        let bytes = name.utf8
        guard let head = bytes.first, bytes.count <= 64 else { return false }
        return first(head) && bytes.dropFirst().allSatisfy(other)
    }
}
