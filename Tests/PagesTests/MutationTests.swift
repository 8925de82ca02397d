import Foundation
import Samples
import Testing
import WebSyntax

@testable import Pages

/// Random changes of the golden documents: every parser receives thousands of almost valid documents. A trap ends the
/// test process. Documents that revealed defects are kept as golden documents.
@Suite(.serialized) struct MutationTests {
    private static let url = "https://example.org/2024/02/03/story"

    /// Configures longer runs: `HALYARD_FUZZ_SECONDS=600 HALYARD_FUZZ_SEED=7 swift test --filter MutationTests`.
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = Int(environment["HALYARD_FUZZ_SECONDS"] ?? "") ?? 0
    private static let seed = UInt64(environment["HALYARD_FUZZ_SEED"] ?? "") ?? 20_240_203

    @Test func changedDocumentsAreReadToTheEnd() async throws {
        var random = SplitMix(seed: Self.seed)
        let documents = GoldenDocument.all
        try #require(!documents.isEmpty)
        let url = try WebURL(parsing: Self.url)
        let types = [
            nil, "text/html", "text/html; charset=gb18030", "text/html; charset=iso-2022-jp",
            "text/html; charset=utf-16le",
        ]
        let end = ContinuousClock.now + .seconds(Self.seconds)
        var round = 0
        // Runs at least 4000 rounds, even on a slow machine, and longer on request.
        while round < 4000 || ContinuousClock.now < end {
            round += 1
            // The tests share few threads.
            await Task.yield()
            let golden = documents[Int.random(in: documents.indices, using: &random)]
            var bytes = golden.document.count > 6000 ? Array(golden.document.prefix(6000)) : golden.document
            for _ in 0...Int.random(in: 0...8, using: &random) { mutate(&bytes, documents, &random) }
            let served = golden.headers.first { $0.0 == "content-type" }?.1
            let type = Int.random(in: 0..<4, using: &random) == 0 ? types.randomElement(using: &random) ?? nil : served
            let output = DocumentMetadata(of: bytes, url: url, contentType: type)
            #expect(output.bytes == bytes.count, "seed \(Self.seed), round \(round)")
            for size in [output.width, output.height, output.images?.first?.width].compactMap({ $0 }) {
                #expect(size >= 0, "seed \(Self.seed), round \(round), \(golden.name)")
            }
            _ = PageHead(bytes, contentType: type)
            var watch = DocumentWatch(contentType: type)
            _ = watch.look(at: bytes)
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ documents: [GoldenDocument], _ random: inout SplitMix) {
        let at = bytes.isEmpty ? 0 : Int.random(in: bytes.indices, using: &random)
        let length = min(bytes.count - at, Int.random(in: 1...32, using: &random))
        switch Int.random(in: 0..<9, using: &random) {
        case 0 where !bytes.isEmpty: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1 where !bytes.isEmpty: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.removeSubrange(at..<at + length)
        case 3: bytes.insert(contentsOf: bytes[at..<at + length], at: at)
        case 4: bytes.insert(contentsOf: Self.pieces.randomElement(using: &random) ?? [], at: at)
        case 5: bytes.removeLast(bytes.count - at)
        case 6:
            // Inserts a piece of another document.
            let other = documents[Int.random(in: documents.indices, using: &random)].document
            guard !other.isEmpty else { return }
            let start = Int.random(in: other.indices, using: &random)
            bytes.insert(contentsOf: other[start..<min(other.count, start + 200)], at: at)
        case 7:
            // Writes numbers at the limits of their range.
            let number: [UInt8] =
                [[0xFF, 0xFF, 0xFF, 0xFF], [0x7F, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0], [0x80, 0, 0, 0]]
                .randomElement(using: &random) ?? []
            bytes.replaceSubrange(at..<min(bytes.count, at + 4), with: number)
        default:
            let digits = [
                "0", "-1", "99999999999999999999", "1e999", "9223372036854775807", "-9223372036854775808", "٣", "0x",
            ]
            bytes.insert(contentsOf: (digits.randomElement(using: &random) ?? "").utf8, at: at)
        }
    }

    private static let pieces: [[UInt8]] =
        [
            "<", ">", "</", "/>", "<!--", "-->", "--!>", "<![CDATA[", "]]>", "&#x110000;", "&#0;", "&amp", "\0", "'",
            "\"", "=", "\u{FEFF}",
            "<title>", "</title>", "<svg>", "<math>", "</svg>", "<template>", "</template>", "<select>", "<table>",
            "<script type=application/ld+json>",
            "</script>", "<body>", "<base href=//", "[[[[", "{{{{", "\\ud800", "\\u", "\":", ",,", "@graph", "@id",
            "itemscope itemprop=a ",
            "endstream", "stream\r\n", "/ObjStm /FlateDecode ", "/Count -5 /Pages ", "(\\777", "<FEFF", "ispe",
            "ftypavif", "RIFF", "WEBPVP8L",
            "\u{1B}$B", "\u{1B}(J", "2024年2月", "年月日", "1月", "Feb 30", "25:61:61+99:99",
        ].map { Array($0.utf8) } + [
            [0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF], [0xFF, 0xD8, 0xFF], [0x8F, 0xFE], [0x81, 0x30, 0x81],
        ]
}
