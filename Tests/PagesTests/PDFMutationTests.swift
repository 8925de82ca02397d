import Samples
import Testing

@testable import Pages

/// Random changes of the golden PDFs. A trap ends the test process.
@Suite(.timeLimit(.minutes(2))) struct PDFMutationTests {
    @Test func changedDocumentsAreReadToTheEnd() async {
        var random = SplitMix(seed: 20_260_101)
        let documents = GoldenDocument.all.filter { $0.name.hasPrefix("pdf-") }.map(\.document)
        #expect(documents.count >= 30)
        for round in 0..<2000 {
            // The tests share few threads.
            await Task.yield()
            guard var bytes = documents.randomElement(using: &random) else { return }
            for _ in 0...Int.random(in: 0...6, using: &random) { Self.change(&bytes, documents, &random) }
            guard let facts = PDFFacts.read(bytes) else { continue }
            #expect(facts.pages.map { (1...10_000_000).contains($0) } ?? true, "round \(round)")
            #expect(facts.title.map { !$0.isEmpty && $0.tidied == $0 } ?? true, "round \(round)")
            #expect((facts.authors ?? []).count <= 20, "round \(round)")
        }
    }

    private static func change(_ bytes: inout [UInt8], _ documents: [[UInt8]], _ random: inout SplitMix) {
        let at = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, at + Int.random(in: 1...40, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1 where at < bytes.count: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.removeSubrange(at..<end)
        case 3 where Int.random(in: 0..<4, using: &random) == 0: bytes.removeSubrange(at...)
        case 4:
            // Replaces a number.
            guard let digit = bytes[at...].firstIndex(where: { (0x30...0x39).contains($0) }) else { return }
            let rest = bytes[digit...].firstIndex { !(0x30...0x39).contains($0) } ?? bytes.count
            bytes.replaceSubrange(digit..<rest, with: (numbers.randomElement(using: &random) ?? "").utf8)
        case 5: bytes.insert(contentsOf: (words.randomElement(using: &random) ?? "").utf8, at: at)
        case 6:
            guard let other = documents.randomElement(using: &random), !other.isEmpty else { return }
            let start = Int.random(in: other.indices, using: &random)
            bytes.insert(contentsOf: other[start..<min(other.count, start + 300)], at: at)
        default: bytes.insert(contentsOf: bytes[at..<end], at: at)
        }
    }

    private static let numbers = [
        "0", "1", "2", "3", "5", "6", "9", "16", "-1", "255", "65535", "8388607", "8388608", "4294967295", "2147483647",
        "9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999", "1.5", "",
    ]
    private static let words = [
        "<<", ">>", "[", "]", "(", ")", "<", ">", "/", "%", "\\", "/Type/ObjStm", "/Type/XRef", "/Filter/FlateDecode",
        "/Filter/Crypt", "/Length 5 0 R", "/Prev 9", "/XRefStm 20", "/Encrypt 3 0 R", "/Extends 1 0 R", "/First 99999",
        "/W[8 8 8]", "/Index[0 99999999]", "/Predictor 15", "/Predictor 2", "/Columns 1048576", "/Colors 32",
        "/BitsPerComponent 16", "/Kids[]", "/Count -1", "/V 4", "/R 6", "/StmF/Identity", "endobj", "endstream",
        "stream\r\n", "5 0 obj", "trailer", "startxref 0", "xref 0 9", "1 0 R", "null", "true", "\u{0}", "<FEFF",
    ]
}
