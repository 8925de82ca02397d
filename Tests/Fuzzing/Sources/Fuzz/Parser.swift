import Glibc
import WebSyntax

@testable import Kinds
@testable import Pages
@testable import Web

/// What is fuzzed, chosen by `HALYARD_FUZZ`: whatever the bytes are, a parser neither traps nor breaks its promise.
enum Parser: String, CaseIterable {
    case page, encoding, json, date, url, file, redirect, message

    static let chosen: Parser = {
        let name = getenv("HALYARD_FUZZ").map { String(cString: $0) } ?? ""
        guard let parser = Parser(rawValue: name) else {
            print("HALYARD_FUZZ must be one of \(allCases.map(\.rawValue).joined(separator: ", ")).")
            exit(2)
        }
        return parser
    }()

    static let address: WebURL = {
        guard let url = try? WebURL(parsing: "https://www.example.org/2024/02/03/story?id=7#part") else { exit(2) }
        return url
    }()

    func read(_ bytes: [UInt8]) {
        switch self {
        case .page: page(bytes)
        case .encoding: encoding(bytes)
        case .json: _ = LinkedData([bytes]).subject(of: LinkedData.Page(addresses: ["\(Self.address)"], titles: ["A"]))
        case .date: date(String(decoding: bytes, as: UTF8.self))
        case .url: url(String(decoding: bytes, as: UTF8.self))
        case .file: file(bytes)
        case .redirect: redirect(bytes)
        case .message: message(bytes)
        }
    }

    private func page(_ bytes: [UInt8]) {
        let output = DocumentMetadata(of: bytes, url: Self.address, contentType: "text/html")
        precondition(output.bytes == bytes.count)
        for text in [output.title, output.description, output.author].compactMap({ $0 }) {
            precondition(!text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) })
        }
        precondition(Set(output.sources.keys) == Set(output.confidence.keys))
        var whole = HeadScanner()
        _ = whole.advance(to: bytes)
        _ = PageHead(bytes, contentType: nil)
        precondition(PageSigns(bytes).textBytes <= bytes.count)
    }

    private func encoding(_ bytes: [UInt8]) {
        let labels = [
            "utf-8", "utf-16le", "utf-16be", "gbk", "gb18030", "big5", "euc-kr", "euc-jp", "shift_jis", "iso-2022-jp",
            "windows-1252", "koi8-u", "x-user-defined", "hz-gb-2312", "",
        ]
        guard let first = bytes.first else { return }
        let label = labels[Int(first) % labels.count]
        let text = Charset.decode(Array(bytes.dropFirst()), contentType: "text/html; charset=\(label)").utf8
        precondition(String(validating: text, as: UTF8.self) != nil && !text.contains(0))
    }

    private func date(_ text: String) {
        for order in [nil, .dayFirst, .monthFirst] as [WildDate.Order?] {
            guard let date = WildDate.iso(text, order: order) else { continue }
            precondition(WildDate.iso(date) == date, "\(date) is not what it says")
            precondition(WildDate.days(from: date, to: date) == 0)
        }
    }

    /// What is written is read as the same.
    private func url(_ text: String) {
        guard let url = try? WebURL(parsing: text) else { return }
        guard let again = try? WebURL(parsing: "\(url)") else { preconditionFailure("\(url) cannot be read") }
        precondition("\(again)" == "\(url)")
        _ = Wrapper.target(of: url)
        _ = TrackingRules().clean(url)
    }

    private func file(_ bytes: [UInt8]) {
        guard let facts = MediaFacts(bytes) else { return }
        for number in [facts.width, facts.height, facts.pages].compactMap({ $0 }) { precondition(number >= 0) }
    }

    /// A `Refresh` in the first line, a `Location` in the next.
    private func redirect(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: 0x0A, maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
        if let text = lines.first, let target = Refresh.target(in: text, base: Self.address) {
            precondition(target.fragment != nil)
        }
        if lines.count > 1 { _ = try? WebURL(parsing: lines[1], base: Self.address) }
    }

    /// A question and a document behind a length of two bytes.
    private func message(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return }
        let count = min(SandboxMessage.count(bytes[..<2]), bytes.count - 2)
        let question = Array(bytes[2..<2 + count])
        guard let answer = try? SandboxMessage.answer(question, Array(bytes[(2 + count)...])) else { return }
        precondition(SandboxMessage.count(SandboxMessage.length(answer.count)[...]) == answer.count)
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Parser.chosen.read(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
