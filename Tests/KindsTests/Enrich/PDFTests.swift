import Testing

@testable import Kinds

/// What the golden documents cannot hold: files that mean harm. A trap ends the test process.
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
        var budget = PDFBudget(for: 0)
        #expect(PDFSections.read(file, &budget)?.places.count == 3)
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
        Self.expectLinearWork(bytes + Array("startxref \(previous)".utf8))
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

    /// No clock: the work is counted. Of what is dense with values each byte counts for some 20.
    private static func expectLinearWork(_ bytes: [UInt8]) {
        var budget = PDFBudget(for: bytes.count)
        #expect(PDFFacts.read(bytes, &budget) != nil)
        #expect(budget.work <= 40 * bytes.count)
    }

    @Test(arguments: [
        "9 0 obj<<>>%", "1 0 obj 5%", "9 0 obj/#ff", "trailer 5%", "trailer<</Root 1 0 R>>%", "9 0 obj 5 5 %",
        "1 0 obj[0 ",
        "1 0 obj[[0][0][0][0][0]]", "5 0 obj<</Type/ObjStm/First 0>>stream\n",
        "[", "<<", "<</A", "(", "<", "/", "[<</A", "%", "1 0 R ", "1 0 obj", "1 0 obj<<", "1 0 obj(", "stream\n",
        "1 0 obj<</Length 9>>stream\n", "1 0 obj<</Type/ObjStm/First 0/Length 5 0 R>>stream\nendstream ", "trailer",
        "trailer<<",
        "xref 0 9 ", "startxref 9 ", "obj ", "\\", "endstream ", "1 0 obj<</Type/ObjStm/Length 2 0 R>>stream\n",
        "1           ",
    ])
    func wordsWithoutEndAreReadToTheEnd(word: String) {
        let many = String(repeating: word, count: Self.halfMebibyte / word.utf8.count)
        Self.expectLinearWork(Self.file(objects: many))
        Self.expectLinearWork(Array("%PDF-1.7\n1 0 obj".utf8) + Array(many.utf8))
    }

    @Test(arguments: [" ", "5"])
    func filtersThatReferToWhatIsLongAreNotReadEach(byte: String) {
        let long = String(repeating: byte, count: Self.halfMebibyte / 2)
        let filters = String(repeating: "9 0 R ", count: Self.halfMebibyte / 12)
        Self.expectLinearWork(
            Self.file(
                objects: """
                    1 0 obj<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>endobj
                    9 0 obj 5\(long)endobj
                    4 0 obj<</Filter[\(filters)]/Length 3>>stream\nabc\nendstream endobj
                    """, information: "<<>>"))
        let stream = "obj<</Type/ObjStm/First 0/Filter[9 0 R 9 0 R]/Length 9 0 R>>stream\nx endstream endobj\n"
        let streams = (10..<2000).map { "\($0) 0 \(stream)" }.joined()
        Self.expectLinearWork(Self.file(objects: streams + "9 0 obj 5\(long)endobj"))
    }

    /// Each begins within the one before, and all end where the last does.
    @Test func objectStreamsWithinEachOtherThatOnlyNameDecryptionAreNotAllKept() {
        var bytes = Array("%PDF-1.7\n".utf8)
        var starts: [Int] = []
        for number in 1000..<2000 {
            // A comment hides it from those that it is in.
            let keys = "/Type/ObjStm/Filter/Crypt/First \(Self.halfMebibyte)/Length \(number + 1000) 0 R"
            bytes += Array("%\(number) 0 obj<<\(keys)>>stream\n".utf8)
            starts.append(bytes.count)
        }
        bytes += Array(String(repeating: "1 ", count: Self.halfMebibyte / 2).utf8)
        let end = bytes.count
        bytes += Array("endstream endobj\n".utf8)
        for (index, start) in starts.enumerated() {
            bytes += Array("\(2000 + index) 0 obj \(end - start) endobj\n".utf8)
        }
        Self.expectLinearWork(bytes + Self.file().dropFirst(9))
    }

    @Test func whatOnlyNamesDecryptionCountsAsOutput() {
        var budget = PDFBudget(for: 0)
        budget.output = 5
        let keys: PDFDictionary = ["Filter": .name("Crypt")]
        #expect(PDFFilter.decode([1, 2, 3], by: keys, &budget) == [1, 2, 3])
        #expect(PDFFilter.decode([1, 2, 3], by: keys, &budget) == nil)
    }

    @Test func lookingAheadIsCounted() {
        var lexer = PDFLexer(Array("5 7 %comment\n8".utf8))
        #expect(lexer.value()?.integer == 5)
        #expect(lexer.at == 1)
        #expect(lexer.furthest == 13)
        #expect(lexer.work == 1 + 12 + 32)
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
        Self.expectLinearWork(Self.file(objects: objects + huge))
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
        // With the last byte right by chance: the padding before must be too.
        let block = [UInt8](repeating: 3, count: 16)
        let zeros = [UInt8](repeating: 0, count: 16)
        let opened = PDFCipher.decryptBlocks(block[...], key: key, start: zeros) ?? []
        func sealed(_ plain: [UInt8]) -> [UInt8] { zip(opened, plain).map { $0 ^ $1 } + block }
        let (right, wrong) = (
            sealed([UInt8](repeating: 65, count: 12) + [4, 4, 4, 4]), sealed([UInt8](0..<12) + [9, 4, 4, 4])
        )
        #expect(PDFCipher.decrypt(right[...], key: key, mayBeCut: false) == [UInt8](repeating: 65, count: 12))
        #expect(PDFCipher.decrypt(wrong[...], key: key, mayBeCut: false) == nil)
        #expect(PDFCipher.decrypt(wrong[...], key: key, mayBeCut: true)?.count == 16)
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
            ([0x18, 0x1F, 0x80, 0x9E, 0xA0, 0xA1, 0xFF], "˘˜•ž€¡ÿ"), ([0x41, 0x09, 0x0D, 0x42, 0, 0], "A\t\rB"),
            ([0x41, 0x7F], nil), ([0x9F, 0x41], nil), ([0xAD], nil), ([0x41, 0, 0x42], nil), ([0x41, 0x17], nil),
            ([0xFE, 0xFF, 0, 0x1B, 0, 0x41], "\u{1B}A"),
        ] as [([UInt8], String?)])
    func textIsDecodedAsItIsMarked(bytes: [UInt8], text: String?) {
        #expect(PDFText.decode(bytes)?.filter { $0 != "\u{1B}" } == text?.filter { $0 != "\u{1B}" })
    }
}
