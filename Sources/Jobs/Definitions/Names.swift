/// The rules for the names of definitions, graph definitions, queues, nodes and parameters.
enum Names {
    /// Whether a definition, graph definition or queue may have this name: `[a-z0-9][a-z0-9._-]*`, at most 64 bytes.
    static func isName(_ name: String) -> Bool {
        isWord(name) { byte, first in
            isLowercase(byte) || isDigit(byte) || (!first && (byte == dot || byte == dash || byte == underscore))
        }
    }

    static let nameRule = "use a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or a digit, at most 64 bytes"

    /// Whether a node or parameter may have this name: `[A-Za-z][A-Za-z0-9_-]*`, at most 64 bytes. It cannot contain a
    /// dot, which separates node and field in `node.field`, and cannot look like the number of a job.
    static func isNodeName(_ name: String) -> Bool {
        isWord(name) { byte, first in
            isLowercase(byte | 0x20) || (!first && (isDigit(byte) || byte == dash || byte == underscore))
        }
    }

    static let nodeNameRule = "use letters, digits, \"_\" and \"-\", beginning with a letter, at most 64 bytes"

    private static let dot = UInt8(ascii: ".")
    private static let dash = UInt8(ascii: "-")
    private static let underscore = UInt8(ascii: "_")

    private static func isLowercase(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }
    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    private static func isWord(_ name: String, _ takes: (_ byte: UInt8, _ first: Bool) -> Bool) -> Bool {
        var first = true
        for byte in name.utf8 {
            guard takes(byte, first) else { return false }
            first = false
        }
        return !first && name.utf8.count <= 64
    }
}
