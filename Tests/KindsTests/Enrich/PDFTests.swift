import Testing

@testable import Kinds

/// What the golden documents cannot hold: files that mean harm, and each of the documents changed at random. A trap ends the
/// test process.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PDFTests {
    private static let halfMebibyte = 512 << 10
    /// A file that says two pages and a title, but for what is put into it.
    private static func file(
        objects: String = "", information: String = "<</Title(T)/Author(A)>>", trailer: String = "",
        end: String = "startxref\n0\n"
    ) -> [UInt8] {
        Array(
            """
            %PDF-1.7
            1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
            2 0 obj<</Type/Pages/Count 2/Kids[]>>endobj
            3 0 obj\(information)endobj
            \(objects)
            trailer<</Root 1 0 R/Info 3 0 R\(trailer)>>
            \(end)
            """.utf8)
    }

    private static func stream(_ dictionary: String, _ data: [UInt8]) -> [UInt8] {
        Array("<<\(dictionary)/Length \(data.count)>>stream\n".utf8) + data + Array("\nendstream endobj\n".utf8)
    }

    /// A cross-reference stream with places of three bytes, of these objects at their places.
    private static func withCrossReferenceStream(
        _ keys: String, rows: (_ places: [Int]) -> [UInt8], widths: String = "[1 3 1]"
    ) -> [UInt8] {
        var bytes = Array("%PDF-1.7\n".utf8)
        var places: [Int] = []
        for object in [
            "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 2/Kids[]>>", "<</Title(T)/Author(A)>>",
        ] {
            places.append(bytes.count)
            bytes += Array("\(places.count) 0 obj\(object)endobj\n".utf8)
        }
        let start = bytes.count
        bytes += Array("9 0 obj".utf8)
        bytes += stream("/Type/XRef/W \(widths)/Root 1 0 R/Info 3 0 R\(keys)", rows(places))
        return bytes + Array("startxref\n\(start)\n".utf8)
    }

    private static func row(_ place: Int) -> [UInt8] {
        [1, UInt8(place >> 16 & 255), UInt8(place >> 8 & 255), UInt8(place & 255), 0]
    }

    // MARK: Cross-references

    @Test func crossReferenceStreamIsReadWithTIFFPredictor() {
        let file = Self.withCrossReferenceStream(
            "/Size 9/Index[1 3]", rows: { places in places.flatMap { Self.row($0) } })
        #expect(PDFSections.read(file)?.places.count == 3)
        var budget = PDFBudget(for: 0)
        // Of `1 2 3` and `4 5 6`, by a deflate block that is only stored.
        let stored: [UInt8] = [0x01, 6, 0, 0xF9, 0xFF, 1, 1, 1, 4, 1, 1]
        let keys: PDFDictionary = [
            "Filter": .name("FlateDecode"),
            "DecodeParms": .dictionary(["Predictor": .integer(2), "Columns": .integer(3)]),
        ]
        #expect(PDFFilter.decode(stored[...], by: keys, &budget) == [1, 2, 3, 4, 5, 6])
    }

    @Test func filtersOfPNGAreUndone() {
        // One row of each: none, left, up, both, Paeth's.
        let rows: [UInt8] = [0, 10, 20, 1, 10, 10, 2, 1, 1, 3, 1, 1, 4, 1, 1]
        let stored = [0x01, UInt8(rows.count), 0, ~UInt8(rows.count), 0xFF] + rows
        let keys: PDFDictionary = [
            "Filter": .array([.name("FlateDecode")]),
            "DecodeParms": .array([.dictionary(["Predictor": .integer(15), "Columns": .integer(2)])]),
        ]
        var budget = PDFBudget(for: 0)
        #expect(
            PDFFilter.decode(stored[...], by: keys, &budget) == [10, 20, 10, 20, 11, 21, 6, 14, 7, 15])
    }

    @Test(arguments: [
        "[1 99999999999 1]", "[8 8 8]", "[0 0 0]", "[-1 2 1]", "[1]", "[9223372036854775807 1 1]", "null",
    ])
    func widthsThatMakeNoSenseAreNotUsed(widths: String) {
        let file = Self.withCrossReferenceStream(
            "/Size 9/Index[1 3]", rows: { places in places.flatMap { Self.row($0) } }, widths: widths)
        #expect(PDFFacts.read(file)?.title == "T")
    }

    @Test(arguments: ["[0 999999999999]", "[8388607 999]", "[-5 3]", "[1 3 1 3 1 3]", "[9223372036854775807 3]"])
    func indexThatMakesNoSenseIsNotUsed(index: String) {
        let file = Self.withCrossReferenceStream(
            "/Size 9/Index\(index)", rows: { places in places.flatMap { Self.row($0) } })
        #expect(PDFFacts.read(file)?.title == "T")
    }

    @Test func tablesThatLeadInCirclesEnd() {
        var bytes = Self.file(end: "")
        let start = bytes.count
        bytes += Array(
            "xref\n0 1\n0000000000 65535 f \ntrailer<</Root 1 0 R/Info 3 0 R/Prev \(start)/XRefStm \(start)>>".utf8)
        bytes += Array("\nstartxref\n\(start)\n".utf8)
        #expect(PDFFacts.read(bytes)?.pages == 2)
    }

    @Test func chainOfTablesThatOverlapEnds() {
        // Each table begins a byte behind the one before, and ends where all end.
        var bytes = Self.file(end: "")
        let start = bytes.count
        let count = 20_000
        for index in 0..<count {
            bytes += Array("xref 0 1 0000000000 65535 f trailer<</Root 1 0 R/Prev \(start + 70 * (index + 1))>>".utf8)
            while bytes.count < start + 70 * (index + 1) { bytes.append(0x20) }
        }
        bytes += Array("startxref \(start)".utf8)
        #expect(PDFFacts.read(bytes)?.pages == 2)
    }

    @Test func longTableThatManyLeadToIsNotReadByEach() {
        var bytes = Self.file(end: "") + [UInt8](repeating: 0x20, count: 1000)
        let start = bytes.count
        bytes += Array("xref ".utf8) + Array(String(repeating: "0 0 ", count: 100_000).utf8)
        bytes += Array("trailer<</Root 1 0 R>>\n".utf8)
        var previous = start
        for index in 0..<900 {
            let next = bytes.count
            bytes += Array("xref trailer<</Root 1 0 R/XRefStm \(start - index)/Prev \(previous)>>\n".utf8)
            previous = next
        }
        #expect(PDFFacts.read(bytes + Array("startxref \(previous)".utf8))?.pages == 2)
    }

    @Test func placesThatLieAreNotBelieved() {
        var bytes = Self.file(end: "")
        let start = bytes.count
        bytes += Array("xref\n1 3\n".utf8)
        for place in ["0000000009", "9999999999", "0000000012"] { bytes += Array("\(place) 00000 n \n".utf8) }
        bytes += Array("trailer<</Root 1 0 R/Info 3 0 R>>\nstartxref\n\(start)\n".utf8)
        #expect(PDFFacts.read(bytes)?.title == "T")
    }

    @Test(arguments: ["1e9", "99999999999999999999", "-1", "", "(", "4000000000"])
    func startThatMakesNoSenseIsNotUsed(start: String) {
        #expect(PDFFacts.read(Self.file(end: "startxref \(start)"))?.title == "T")
    }

    // MARK: Objects

    @Test func parentsAndReferencesThatGoInCirclesEnd() {
        let file = Self.file(
            objects: "4 0 obj 5 0 R endobj 5 0 obj 4 0 R endobj 6 0 obj<</Length 6 0 R>>stream\nx\nendstream",
            information: "<</Title 4 0 R/Author(A)/Parent 3 0 R>>", trailer: "/Encrypt null")
        let facts = PDFFacts.read(file)
        #expect(facts?.title == nil)
        #expect(facts?.authors == ["A"])
    }

    @Test func objectStreamThatHoldsItselfEnds() {
        let object = "4 0 obj<</Type/ObjStm/N 2/First 8/Extends 4 0 R/Length 5 0 R>>stream\n4 0 5 0 20 endstream endobj"
        #expect(PDFFacts.read(Self.file(objects: object))?.title == "T")
    }

    @Test(arguments: ["-1", "0", "1", "99999999", "4 0 R", "(x)", "9223372036854775807"])
    func lengthThatLiesIsNotBelieved(length: String) {
        let xmp = "<x:xmpmeta><dc:title>From XMP</dc:title></x:xmpmeta>"
        let file = Self.file(
            objects: """
                1 0 obj<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>endobj
                4 0 obj<</Type/Metadata/Length \(length)>>stream\n\(xmp)\nendstream endobj
                """, information: "<<>>")
        #expect(PDFFacts.read(file)?.title == "From XMP")
    }

    @Test(arguments: [
        "[", "<<", "<</A", "(", "<", "/", "[<</A", "%", "1 0 R ", "1 0 obj", "1 0 obj<<", "1 0 obj(", "stream\n",
        "1 0 obj<</Length 9>>stream\n", "1 0 obj<</Type/ObjStm/First 0/Length 5 0 R>>stream\nendstream ", "trailer",
        "trailer<<",
        "xref 0 9 ", "startxref 9 ", "obj ", "\\", "endstream ", "1 0 obj<</Type/ObjStm/Length 2 0 R>>stream\n",
        "1           ",
    ])
    func wordsWithoutEndAreReadToTheEnd(word: String) {
        let many = String(repeating: word, count: Self.halfMebibyte / word.utf8.count)
        let bytes = Self.file(objects: many)
        #expect(PDFFacts.read(bytes) != nil)
        #expect(PDFFacts.read(Array("%PDF-1.7\n1 0 obj".utf8) + Array(many.utf8)) != nil)
    }

    @Test func whatIsPackedTightlyIsUnpackedToALimit() throws {
        // A thousand bytes of zeros for each byte, in many streams.
        let bomb: [UInt8] = Self.zeros(blocks: 60)
        var bytes = Array("%PDF-1.7\n".utf8)
        for number in 10..<300 {
            bytes += Array("\(number) 0 obj".utf8) + Self.stream("/Type/ObjStm/N 1/First 4/Filter/FlateDecode", bomb)
        }
        bytes += Self.file().dropFirst(9)
        #expect(PDFFacts.read(bytes)?.title == "T")
        var budget = PDFBudget(for: 0)
        budget.output = 1000
        let keys: PDFDictionary = ["Filter": .name("FlateDecode")]
        #expect(PDFFilter.decode(bomb[...], by: keys, &budget)?.count == 1000)
        #expect(PDFFilter.decode(bomb[...], by: keys, &budget) == nil)
    }

    /// Deflate blocks with fixed codes: a zero, and the same again 258 times over.
    private static func zeros(blocks: Int) -> [UInt8] {
        var bits: [UInt8] = []
        func put(_ code: Int, _ count: Int) {
            for bit in (0..<count).reversed() { bits.append(UInt8(code >> bit & 1)) }
        }
        bits += [1, 1, 0]
        put(0x30, 8)
        for _ in 0..<blocks * 100 {
            put(0xC5, 8)
            put(0, 5)
        }
        put(0, 7)
        while bits.count % 8 != 0 { bits.append(0) }
        return stride(from: 0, to: bits.count, by: 8).map { at in
            (0..<8).reduce(UInt8(0)) { $0 | bits[at + $1] << UInt8($1) }
        }
    }

    @Test func lengthsThatReferToWhatIsHugeAreNotReadAgainAndAgain() {
        let stream = "obj<</Type/ObjStm/First 0/Filter 9 0 R/Length 9 0 R>>stream\nx endstream endobj\n"
        let objects = (10..<2000).map { "\($0) 0 \(stream)" }.joined()
        let huge = "9 0 obj[" + String(repeating: "1 ", count: 100_000) + "]endobj"
        #expect(PDFFacts.read(Self.file(objects: objects + huge))?.title == "T")
    }

    @Test func countBelowItsOwnBranchesIsNotTold() {
        let pages = "2 0 obj<</Type/Pages/Count 2/Kids[4 0 R 5 0 R 6 0 R]>>endobj"
        #expect(PDFFacts.read(Self.file(objects: pages))?.pages == nil)
    }

    @Test func stringThatWasNotEncryptedIsNotDecrypted() {
        let id = PDFObjectID(number: 1, generation: 0)
        let key = [UInt8](repeating: 7, count: 16)
        #expect(PDFCipher.decrypt(Array("A plain title".utf8)[...], key: key, mayBeCut: false) == nil)
        #expect(PDFCipher.decrypt([UInt8](repeating: 1, count: 40)[...], key: key, mayBeCut: false) == nil)
        #expect(PDFCipher.decrypt([UInt8](repeating: 1, count: 40)[...], key: key, mayBeCut: true)?.count == 16)
        #expect(PDFCipher.decrypt([UInt8](repeating: 1, count: 48)[...], key: [1, 2, 3], mayBeCut: true) == nil)
        // Without a key nothing is told, but for what is not encrypted at all.
        let unknown = PDFDecryption(["Filter": .name("Standard"), "V": .integer(2), "R": .integer(3)], id: [])
        #expect(unknown.decrypt(string: [1, 2, 3], of: id) == nil)
        let clear = PDFDecryption(["Filter": .name("Standard"), "V": .integer(4), "R": .integer(4)], id: [])
        #expect(clear.decrypt(string: [1, 2, 3], of: id) == [1, 2, 3])
    }

    @Test(arguments: ["0", "-3", "2.5", "99999999", "(2)", "[2]", "9 0 R", "3"])
    func countThatCannotBeIsNotTold(count: String) {
        let pages = "2 0 obj<</Type/Pages/Count \(count)/Kids[]>>endobj"
        #expect(PDFFacts.read(Self.file(objects: pages, trailer: "/Size 4"))?.pages == (count == "3" ? 3 : nil))
    }

    @Test(arguments: [
        "<</Filter/Standard>>", "<</Filter/Standard/V 5/R 6/U()/UE()/StrF/S>>",
        "<</Filter/Standard/V 4/R 4/O()/U()/P 0/StrF/S>>",
        "<</Filter/Adobe.PubSec/V 4/StrF/S/CF<</S<</CFM/AESV2>>>>>>", "9 0 R", "(x)", "<</Filter/Standard/V 99/R 99>>",
        "<</Filter/Standard/V 2/R 3/Length 99999999/O(0123456789012345)/U(0123456789012345)/P -4>>",
    ])
    func whatNobodyKnowsHowToDecryptIsNotGuessed(encryption: String) {
        let facts = PDFFacts.read(Self.file(trailer: "/Encrypt \(encryption)"))
        #expect(facts?.title == nil)
        #expect(facts?.authors == nil)
        #expect(facts?.pages == 2)
    }

    // MARK: Texts

    @Test(arguments: [
        ("(a\\\nb\\\r\nc)", "abc"), ("(\\101\\7x\\0534\\))", "A\u{7}x+4)"), ("(a(b)c)", "a(b)c"),
        ("<4 1 4\n2 5>", "ABP"),
        ("<>", ""), ("(\\q\\b\\f)", "q\u{8}\u{C}"), ("(a\r\nb\rc)", "a\nb\nc"), ("(\\400)", "\u{0}"),
    ])
    func stringIsReadAsItIsWritten(written: String, text: String) throws {
        var lexer = PDFLexer(Array(written.utf8))
        #expect(lexer.value()?.string == Array(text.utf8))
    }

    @Test(
        arguments: [
            ([0xFE, 0xFF], ""), ([0xFE, 0xFF, 0x00], ""), ([0xFE, 0xFF, 0xD8, 0x00], "\u{FFFD}"),
            ([0xFF, 0xFE, 0x41, 0x00], "A"), ([0xEF, 0xBB, 0xBF, 0xC3], "\u{FFFD}"),
            ([0x18, 0x1F, 0x80, 0x9E, 0xA0, 0xA1, 0xFF], "˘˜•ž€¡ÿ"), ([0x41, 0x7F, 0x9F, 0xAD, 0x42], "AB"),
            ([0xFE, 0xFF, 0, 0x1B, 0, 0x41], "\u{1B}A"),
        ] as [([UInt8], String)])
    func textIsDecodedAsItIsMarked(bytes: [UInt8], text: String) {
        #expect(PDFText.decode(bytes).filter { $0 != "\u{1B}" } == text.filter { $0 != "\u{1B}" })
    }

    // MARK: Changed at random

    @Test func changedDocumentsAreReadToTheEnd() async {
        var random = SplitMix(seed: 20_260_101)
        let documents = GoldenTests.all.filter { $0.name.hasPrefix("pdf-") }.map(\.document)
        #expect(documents.count >= 30)
        for round in 0..<2000 {
            // The threads that all tests share are few.
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
            // Another number in place of one.
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
