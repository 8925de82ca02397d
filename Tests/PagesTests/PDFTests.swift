import Samples
import Testing

@testable import Pages

/// Hostile files, which the golden documents do not contain. A trap ends the test process.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PDFTests {
    private static let halfMebibyte = 512 << 10
    /// Two pages, a title and an author.
    private static let objects = [
        1: "<</Type/Catalog/Pages 2 0 R>>", 2: "<</Type/Pages/Count 2/Kids[]>>", 3: "<</Title(T)/Author(A)>>",
    ]
    private static let withMetadata = "<</Type/Catalog/Pages 2 0 R/Metadata 4 0 R>>"

    /// A file with a table of the standard objects and of these, which replace those of the same number.
    private static func file(_ objects: [Int: String] = [:], trailer: String = "") -> [UInt8] {
        let (bytes, table) = withTable(objects, trailer: trailer)
        return bytes + Array("startxref\n\(table)\n".utf8)
    }

    /// A file up to its table.
    ///
    /// - Parameter trailer: Keys of the trailer, in which `{table}` stands for the table's place.
    private static func withTable(
        _ objects: [Int: String] = [:], trailer: String = ""
    ) -> (bytes: [UInt8], table: Int) {
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows = ""
        for (number, object) in Self.objects.merging(objects, uniquingKeysWith: { $1 }).sorted(by: { $0.key < $1.key })
        {
            rows += "\(number) 1\n\(bytes.count) 0 n\n"
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        let keys = trailer.replacing("{table}", with: "\(bytes.count)")
        return (bytes + Array("xref\n\(rows)trailer<</Root 1 0 R/Info 3 0 R\(keys)>>\n".utf8), bytes.count)
    }

    private static func stream(_ dictionary: String, _ data: [UInt8]) -> [UInt8] {
        Array("<<\(dictionary)/Length \(data.count)>>stream\n".utf8) + data + Array("\nendstream endobj\n".utf8)
    }

    /// A file with a cross-reference stream.
    ///
    /// - Parameters:
    ///   - packed: The objects that are in object streams, with the number of the stream.
    ///   - index: The numbers that the cross-reference stream says it has; nil for the right ones.
    private static func withCrossReferenceStream(
        _ objects: [Int: String] = [:], packed: [Int: Int] = [:], index: String? = nil, widths: String = "[1 3 1]"
    ) -> [UInt8] {
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows = packed.mapValues { [2, 0, UInt8($0 >> 8), UInt8($0 & 255), 0] }
        for (number, object) in Self.objects.merging(objects, uniquingKeysWith: { $1 }) where packed[number] == nil {
            rows[number] = row(bytes.count)
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        return withCrossReferenceStream(bytes, rows, index: index, widths: widths)
    }

    private static func withCrossReferenceStream(
        _ bytes: [UInt8], _ rows: [Int: [UInt8]], index: String? = nil, widths: String = "[1 3 1]"
    ) -> [UInt8] {
        let index = index ?? "[\(rows.keys.sorted().map { "\($0) 1" }.joined(separator: " "))]"
        let keys = "/Type/XRef/Size 9999/Index\(index)/W \(widths)/Root 1 0 R/Info 3 0 R"
        return bytes + Array("9999 0 obj".utf8) + stream(keys, rows.sorted { $0.key < $1.key }.flatMap(\.value))
            + Array("startxref\n\(bytes.count)\n".utf8)
    }

    private static func row(_ place: Int) -> [UInt8] {
        [1, UInt8(place >> 16 & 255), UInt8(place >> 8 & 255), UInt8(place & 255), 0]
    }

    // MARK: Cross-references

    @Test func crossReferenceStreamIsReadWithTIFFPredictor() throws {
        let file = Self.withCrossReferenceStream()
        var budget = PDFBudget(for: 0)
        let bytes = try #require(PDFBytes(file, gap: nil))
        #expect(PDFSections.read(bytes, &budget)?.locations.count == 3)
        #expect(PDFFacts.read(file)?.title == "T")
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

    /// A file whose objects cannot be located is still a PDF, but has no metadata.
    private static func expectNoMetadata(_ bytes: [UInt8]) {
        #expect(PDFFacts.read(bytes) == PDFFacts())
    }

    @Test(arguments: [
        "[1 99999999999 1]", "[8 8 8]", "[0 0 0]", "[-1 2 1]", "[1]", "[9223372036854775807 1 1]", "null",
    ])
    func widthsThatMakeNoSenseAreNotUsed(widths: String) {
        Self.expectNoMetadata(Self.withCrossReferenceStream(widths: widths))
    }

    @Test(arguments: ["[0 999999999999]", "[8388607 999]", "[-5 3]", "[9223372036854775807 3]"])
    func indexThatMakesNoSenseIsNotUsed(index: String) {
        Self.expectNoMetadata(Self.withCrossReferenceStream(index: index))
    }

    @Test func crossReferenceStreamThatIsShorterThanItSaysIsUsedToItsEnd() {
        #expect(PDFFacts.read(Self.withCrossReferenceStream(index: "[1 1 2 1 3 1 1 3 1 3]"))?.title == "T")
    }

    @Test func tablesThatLeadInCirclesEnd() {
        let facts = PDFFacts.read(Self.file(trailer: "/Prev {table}/XRefStm {table}"))
        #expect(facts?.pages == 2)
        #expect(facts?.title == "T")
    }

    @Test(arguments: ["/Prev 99999999", "/Prev -1", "/Prev (x)", "/Prev 9", "/XRefStm 9", "/XRefStm 9/Prev {table}"])
    func newerSectionHoldsWhateverTheOlderOneIs(trailer: String) {
        #expect(PDFFacts.read(Self.file(trailer: trailer))?.title == "T")
    }

    @Test func emptyNewestTableLeadsToTheCompleteOneWithoutItsStream() {
        let (bytes, table) = Self.withTable()
        let newest = "xref 0 0 trailer<</Root 1 0 R/Info 3 0 R/Prev \(table)/XRefStm 9>>startxref \(bytes.count)"
        #expect(PDFFacts.read(bytes + Array(newest.utf8))?.title == "T")
    }

    @Test func chainOfTablesThatOverlapEnds() {
        // Each table begins a byte behind the one before, and ends where all end.
        let start = 4096
        var (bytes, table) = Self.withTable(trailer: "/Prev \(start)")
        bytes += [UInt8](repeating: 0x20, count: start - bytes.count)
        for index in 0..<20_000 {
            bytes += Array("xref 0 1 0000000000 65535 f trailer<</Root 1 0 R/Prev \(start + 70 * (index + 1))>>".utf8)
            while bytes.count < start + 70 * (index + 1) { bytes.append(0x20) }
        }
        #expect(PDFFacts.read(bytes + Array("startxref \(table)".utf8))?.pages == 2)
    }

    @Test func longTableThatManyLeadToIsNotReadByEach() {
        let start = 4096
        let long = Array(("xref " + String(repeating: "0 0 ", count: 100_000) + "trailer<</Root 1 0 R>>\n").utf8)
        var previous = start
        var tables: [UInt8] = []
        for index in 0..<900 {
            let next = start + long.count + tables.count
            tables += Array("xref trailer<</Root 1 0 R/XRefStm \(start - index)/Prev \(previous)>>\n".utf8)
            previous = next
        }
        var (bytes, table) = Self.withTable(trailer: "/Prev \(previous)")
        bytes += [UInt8](repeating: 0x20, count: start - bytes.count) + long + tables
        bytes += Array("startxref \(table)".utf8)
        #expect(PDFFacts.read(bytes)?.pages == 2)
        Self.expectLinearWork(bytes)
    }

    @Test func placesThatLieAreNotBelieved() {
        var (bytes, _) = Self.withTable()
        let start = bytes.count
        bytes += Array("xref\n1 3\n".utf8)
        for place in ["0000000008", "9999999999", "0000000012"] { bytes += Array("\(place) 00000 n \n".utf8) }
        bytes += Array("trailer<</Root 1 0 R/Info 3 0 R>>\nstartxref\n\(start)\n".utf8)
        Self.expectNoMetadata(bytes)
    }

    @Test(arguments: ["1e9", "99999999999999999999", "-1", "", "(", "4000000000"])
    func startThatMakesNoSenseIsNotUsed(start: String) {
        Self.expectNoMetadata(Self.withTable().bytes + Array("startxref \(start)".utf8))
    }

    // MARK: Two ends of a long file

    @Test func objectsAtBothEndsAreRead() throws {
        let ends = try #require(GoldenDocument.all.first { $0.name == "pdf-two-ends" }).document
        let facts = PDFFacts.read(ends, gap: 2000..<3596)
        #expect(facts?.title == "A (b) c")
        #expect(facts?.authors == ["Ém"])
        #expect(facts?.pages == 40)
        // Without their distance the places are wrong.
        Self.expectNoMetadata(ends)
    }

    /// What the gap cuts is absent, and nothing is read across it.
    @Test func gapAnywhereHidesOnlyWhatIsInIt() {
        let whole = Array("junk".utf8) + Self.file([3: "<</Title(A longer title)/Author(An author)>>"])
        var complete = 0
        for start in whole.indices {
            for end in stride(from: start, through: whole.count, by: 3) {
                let facts = PDFFacts.read(Array(whole[..<start] + whole[end...]), gap: start..<end)
                guard let facts else { continue }
                #expect([nil, "A longer title"].contains(facts.title), "\(start)..<\(end)")
                #expect([nil, ["An author"]].contains(facts.authors), "\(start)..<\(end)")
                #expect([nil, 2].contains(facts.pages), "\(start)..<\(end)")
                if facts.title != nil, facts.pages != nil { complete += 1 }
            }
        }
        #expect(complete > whole.count / 2)
    }

    @Test(arguments: [
        Int.min..<Int.max, -5..<3, 0..<0, 0..<Int.max, 9..<Int.max, 50..<Int.max - 10, 999_999..<9_999_999, -9 ..< -3,
    ])
    func gapThatMakesNoSenseNeverTraps(gap: Range<Int>) { _ = PDFFacts.read(Self.file(), gap: gap) }

    // MARK: Objects

    @Test func parentsAndReferencesThatGoInCirclesEnd() {
        let file = Self.file(
            [
                3: "<</Title 4 0 R/Author(A)/Parent 3 0 R>>", 4: " 5 0 R ", 5: " 4 0 R ",
                6: "<</Length 6 0 R>>stream\nx\nendstream ",
            ], trailer: "/Encrypt null")
        let facts = PDFFacts.read(file)
        #expect(facts?.title == nil)
        #expect(facts?.authors == ["A"])
    }

    @Test func objectStreamThatHoldsItselfEnds() {
        let facts = PDFFacts.read(Self.withCrossReferenceStream(packed: [3: 4, 4: 4]))
        #expect(facts?.pages == 2)
        #expect(facts?.title == nil)
    }

    @Test(arguments: ["-1", "0", "1", "99999999", "4 0 R", "(x)", "9223372036854775807", "55"])
    func streamWhoseLengthLiesIsNotRead(length: String) {
        let xmp = "<x:xmpmeta><dc:title>From XMP</dc:title></x:xmpmeta>"
        let file = Self.file([
            1: Self.withMetadata, 3: "<<>>", 4: "<</Type/Metadata/Length \(length)>>stream\n\(xmp)\nendstream ",
        ])
        #expect(PDFFacts.read(file)?.title == (xmp.utf8.count == Int(length) ? "From XMP" : nil))
        #expect(PDFFacts.read(file)?.pages == 2)
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
        let bytes = Array(many.utf8)
        Self.expectLinearWork(Self.file([3: many]))
        Self.expectLinearWork(Self.file([1: Self.withMetadata, 3: "<<>>", 4: many]))
        Self.expectLinearWork(Self.file(trailer: many))
        Self.expectLinearWork(Array("%PDF-1.7\n".utf8) + bytes + Array("\nstartxref 9".utf8))
        Self.expectLinearWork(Array("%PDF-1.7\n9 0 obj<</Type/XRef".utf8) + bytes + Array("\nstartxref 9".utf8))
        Self.expectLinearWork(Array("%PDF-1.7\nstartxref ".utf8) + bytes)
        Self.expectLinearWork(Array("%PDF-1.7\n1 0 obj".utf8) + bytes)
    }

    /// Every object is in a stream of its own and leads to the next, so that many streams are read.
    ///
    /// - Parameter keys: Keys of each stream.
    private static func chain(_ keys: String, _ objects: [Int: String]) -> [UInt8] {
        var objects = objects
        var packed: [Int: Int] = [:]
        objects[3] = "<</Title 10 0 R/Author 20 0 R>>"
        for number in 10..<30 {
            packed[number] = 1000 + number
            let data = "\(number) 0 \(number + 1) 0 R"
            objects[1000 + number] =
                "<</Type/ObjStm/First 5/Length \(data.utf8.count)\(keys)>>stream\n\(data)\nendstream "
        }
        return withCrossReferenceStream(objects, packed: packed)
    }

    @Test(arguments: [
        " 11" + String(repeating: " ", count: halfMebibyte / 2), "[" + String(repeating: "1 ", count: 100_000) + "]",
    ])
    func lengthsAndFiltersThatReferToWhatIsLongAreNotReadEach(long: String) {
        let filters = String(repeating: "9 0 R ", count: Self.halfMebibyte / 12)
        Self.expectLinearWork(
            Self.file([
                1: Self.withMetadata, 3: "<<>>", 9: long,
                4: "<</Filter[\(filters)]/Length 3>>stream\nabc\nendstream ",
            ]))
        for keys in ["/DecodeParms 9 0 R", "/DecodeParms[9 0 R 9 0 R]", "/Filter[9 0 R 9 0 R]", "/Length 9 0 R"] {
            #expect(PDFFacts.read(Self.chain(keys, [9: " 11 "]))?.pages == 2)
            Self.expectLinearWork(Self.chain(keys, [9: long]))
        }
    }

    /// Each begins within the one before, and all end where the last does.
    @Test func objectStreamsWithinEachOtherThatOnlyNameDecryptionAreNotAllKept() {
        let numbers = [3] + Array(10..<30)
        let first = 10_000
        let end = first + Self.halfMebibyte
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows: [Int: [UInt8]] = [:]
        for (index, number) in numbers.enumerated() {
            // A comment hides its head from those that it is in.
            rows[1000 + number] = Self.row(bytes.count + 1)
            let start = bytes.count + 90
            var head =
                "%\(1000 + number) 0 obj<</Type/ObjStm/Filter/Crypt/First \(first - start)/Length \(end - start)>>"
            head += String(repeating: " ", count: 90 - 7 - head.utf8.count) + "stream\n"
            bytes += Array("\(head)\(number) \(40 * index)\n".utf8)
            rows[number] = [2, 0, UInt8((1000 + number) >> 8), UInt8((1000 + number) & 255), 0]
        }
        bytes += [UInt8](repeating: 0x20, count: first - bytes.count)
        for number in numbers {
            let object = number == 3 ? "<</Title 10 0 R/Author 20 0 R>>" : "\(number + 1) 0 R"
            bytes += Array(object.utf8) + [UInt8](repeating: 0x20, count: 40 - object.utf8.count)
        }
        bytes += [UInt8](repeating: 0x20, count: end - bytes.count) + Array("endstream endobj\n".utf8)
        for (number, object) in Self.objects where number != 3 {
            rows[number] = Self.row(bytes.count)
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        let file = Self.withCrossReferenceStream(bytes, rows)
        #expect(PDFFacts.read(file)?.pages == 2)
        Self.expectLinearWork(file)
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
        #expect(lexer.work == 1 + 12 + 32)
    }

    @Test func whatIsPackedTightlyIsUnpackedToALimit() throws {
        // A thousand bytes of zeros for each byte, as the metadata and in the stream of the information.
        let bomb: [UInt8] = Self.zeros(blocks: 60)
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows: [Int: [UInt8]] = [3: [2, 0, 0, 5, 0]]
        for (number, object) in Self.objects.merging([1: Self.withMetadata], uniquingKeysWith: { $1 }) where number != 3
        {
            rows[number] = Self.row(bytes.count)
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        for (number, type) in [(4, "/Type/Metadata"), (5, "/Type/ObjStm/N 1/First 4")] {
            rows[number] = Self.row(bytes.count)
            bytes += Array("\(number) 0 obj".utf8) + Self.stream("\(type)/Filter/FlateDecode", bomb)
        }
        #expect(PDFFacts.read(Self.withCrossReferenceStream(bytes, rows))?.pages == 2)
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

    @Test func countBelowItsOwnBranchesIsNotTold() {
        let pages = "<</Type/Pages/Count 2/Kids[4 0 R 5 0 R 6 0 R]>>"
        #expect(PDFFacts.read(Self.file([2: pages]))?.pages == nil)
    }

    @Test(arguments: ["0", "-3", "2.5", "99999999", "(2)", "[2]", "9 0 R", "3"])
    func countThatCannotBeIsNotTold(count: String) {
        let pages = "<</Type/Pages/Count \(count)/Kids[]>>"
        #expect(PDFFacts.read(Self.file([2: pages], trailer: "/Size 4"))?.pages == (count == "3" ? 3 : nil))
    }

    @Test(arguments: [
        "<</Filter/Standard>>", "<</Filter/Standard/V 5/R 6/U()/UE()/StrF/S>>",
        "<</Filter/Standard/V 4/R 4/O()/U()/P 0/StrF/S>>",
        "<</Filter/Adobe.PubSec/V 4/StrF/S/CF<</S<</CFM/AESV2>>>>>>", "9 0 R", "(x)", "<</Filter/Standard/V 99/R 99>>",
        "<</Filter/Standard/V 2/R 3/Length 99999999/O(0123456789012345)/U(0123456789012345)/P -4>>",
    ])
    func encryptedStringsAreNotTold(encryption: String) {
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
