import ArgumentParser

/// An address for files, in which `{path}` stands for the percent-encoded path of each file.
struct AddressTemplate {
    static let mark = "{path}"

    private let text: String

    /// - Throws: ``UnreadableArgument`` if the braces contain anything else, or if the mark would decide which
    ///   server gets a file.
    init(_ text: String) throws {
        self.text = text
        let rest = text.replacing(Self.mark, with: "")
        if let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            let tail = rest[open...]
            let word = tail.firstIndex(of: "}").map { String(tail[...$0]) } ?? String(tail)
            throw UnreadableArgument(
                description:
                    "\(word) is unknown. The only placeholder is \(Self.mark), the path of each file; write a brace as %7B or %7D"
            )
        }
        guard let mark = text.firstRange(of: Self.mark) else { return }
        let host = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
        let end = host.firstIndex { "/?#".contains($0) } ?? text.endIndex
        if mark.lowerBound < end {
            throw UnreadableArgument(
                description:
                    "\(Self.mark) must not be part of the host. Put it after the host, as in https://files.example.org/\(Self.mark)"
            )
        }
    }

    @Sendable static func read(_ text: String) throws -> AddressTemplate { try AddressTemplate(text) }

    var hasMark: Bool { text.contains(Self.mark) }

    func address(of file: FileTree.File) -> String { text.replacing(Self.mark, with: Self.encoded(file.place)) }

    /// Encodes every byte except the unreserved characters of an address and the slash.
    private static func encoded(_ place: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var output: [UInt8] = []
        for byte in place.utf8 {
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._~/".utf8.contains(byte)
            output += isPlain ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: output, as: UTF8.self)
    }
}
