import ControlProtocol

import ArgumentParser

/// An address for files, in which `{path}` stands for the percent-encoded path of each file.
struct AddressTemplate {
    static let mark = "{path}"

    private let text: String

    /// - Throws: ``ArgumentProblem`` if the braces contain anything else, or if the mark would decide which
    ///   server gets a file.
    init(_ text: String) throws {
        self.text = text
        let rest = text.replacing(Self.mark, with: "")
        if let open = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            let tail = rest[open...]
            let word = tail.firstIndex(of: "}").map { String(tail[...$0]) } ?? String(tail)
            throw ArgumentProblem(
                description:
                    "\(word) is unknown. The only placeholder is \(Self.mark), the path of each file; write a brace as %7B or %7D"
            )
        }
        guard let mark = text.firstRange(of: Self.mark) else { return }
        let host = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
        let end = host.firstIndex { "/?#".contains($0) } ?? text.endIndex
        if mark.lowerBound < end {
            throw ArgumentProblem(
                description:
                    "\(Self.mark) must not be part of the host. Put it after the host, as in https://files.example.org/\(Self.mark)"
            )
        }
    }

    @Sendable static func read(_ text: String) throws -> AddressTemplate { try AddressTemplate(text) }

    var hasMark: Bool { text.contains(Self.mark) }

    func address(of file: FileTree.File) -> String {
        text.replacing(Self.mark, with: percentEncoded(file.relativePath, keeping: "/"))
    }
}
