import Testing

@testable import Pages

/// Hostile files, unlike those among the golden documents. A trap ends the test process.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PDFObjectTests {
    @Test func filtersOfPNGAreUndone() {
        // One row with each PNG filter: none, sub, up, average, Paeth.
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

    @Test func parentsAndReferencesThatGoInCirclesEnd() {
        let file = MadePDF.file(
            [
                3: "<</Title 4 0 R/Author(A)/Parent 3 0 R>>", 4: " 5 0 R ", 5: " 4 0 R ",
                6: "<</Length 6 0 R>>stream\nx\nendstream ",
            ], trailer: "/Encrypt null")
        let facts = PDFFacts.read(file)
        #expect(facts?.title == nil)
        #expect(facts?.authors == ["A"])
    }

    @Test func objectStreamThatHoldsItselfEnds() {
        let facts = PDFFacts.read(MadePDF.withCrossReferenceStream(packed: [3: 4, 4: 4]))
        #expect(facts?.pages == 2)
        #expect(facts?.title == nil)
    }

    @Test(arguments: ["-1", "0", "1", "99999999", "4 0 R", "(x)", "9223372036854775807", "55"])
    func streamWhoseLengthLiesIsNotRead(length: String) {
        let xmp = "<x:xmpmeta><dc:title>From XMP</dc:title></x:xmpmeta>"
        let file = MadePDF.file([
            1: MadePDF.withMetadata, 3: "<<>>", 4: "<</Type/Metadata/Length \(length)>>stream\n\(xmp)\nendstream ",
        ])
        #expect(PDFFacts.read(file)?.title == (xmp.utf8.count == Int(length) ? "From XMP" : nil))
        #expect(PDFFacts.read(file)?.pages == 2)
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
        let many = String(repeating: word, count: MadePDF.halfMebibyte / word.utf8.count)
        let bytes = Array(many.utf8)
        MadePDF.expectLinearWork(MadePDF.file([3: many]))
        MadePDF.expectLinearWork(MadePDF.file([1: MadePDF.withMetadata, 3: "<<>>", 4: many]))
        MadePDF.expectLinearWork(MadePDF.file(trailer: many))
        MadePDF.expectLinearWork(Array("%PDF-1.7\n".utf8) + bytes + Array("\nstartxref 9".utf8))
        MadePDF.expectLinearWork(Array("%PDF-1.7\n9 0 obj<</Type/XRef".utf8) + bytes + Array("\nstartxref 9".utf8))
        MadePDF.expectLinearWork(Array("%PDF-1.7\nstartxref ".utf8) + bytes)
        MadePDF.expectLinearWork(Array("%PDF-1.7\n1 0 obj".utf8) + bytes)
    }

    /// Objects that each have their own stream and refer to the next, so that many streams are read.
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
        return MadePDF.withCrossReferenceStream(objects, packed: packed)
    }

    @Test(arguments: [
        " 11" + String(repeating: " ", count: MadePDF.halfMebibyte / 2),
        "[" + String(repeating: "1 ", count: 100_000) + "]",
    ])
    func lengthsAndFiltersThatReferToWhatIsLongAreNotReadEach(long: String) {
        let filters = String(repeating: "9 0 R ", count: MadePDF.halfMebibyte / 12)
        MadePDF.expectLinearWork(
            MadePDF.file([
                1: MadePDF.withMetadata, 3: "<<>>", 9: long,
                4: "<</Filter[\(filters)]/Length 3>>stream\nabc\nendstream ",
            ]))
        for keys in ["/DecodeParms 9 0 R", "/DecodeParms[9 0 R 9 0 R]", "/Filter[9 0 R 9 0 R]", "/Length 9 0 R"] {
            #expect(PDFFacts.read(Self.chain(keys, [9: " 11 "]))?.pages == 2)
            MadePDF.expectLinearWork(Self.chain(keys, [9: long]))
        }
    }

    /// Each stream begins inside the previous one, and all share their end.
    @Test func objectStreamsWithinEachOtherThatOnlyNameDecryptionAreNotAllKept() {
        let numbers = [3] + Array(10..<30)
        let first = 10_000
        let end = first + MadePDF.halfMebibyte
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows: [Int: [UInt8]] = [:]
        for (index, number) in numbers.enumerated() {
            // A comment hides the head from the streams that contain it.
            rows[1000 + number] = MadePDF.row(bytes.count + 1)
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
        for (number, object) in MadePDF.objects where number != 3 {
            rows[number] = MadePDF.row(bytes.count)
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        let file = MadePDF.withCrossReferenceStream(bytes, rows)
        #expect(PDFFacts.read(file)?.pages == 2)
        MadePDF.expectLinearWork(file)
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
        // Deflated zeros, a thousand for each byte, as the metadata and in the object stream with the document
        // information.
        let bomb: [UInt8] = Self.zeros(blocks: 60)
        var bytes = Array("%PDF-1.7\n".utf8)
        var rows: [Int: [UInt8]] = [3: [2, 0, 0, 5, 0]]
        for (number, object) in MadePDF.objects.merging([1: MadePDF.withMetadata], uniquingKeysWith: { $1 })
        where number != 3 {
            rows[number] = MadePDF.row(bytes.count)
            bytes += Array("\(number) 0 obj\(object)endobj\n".utf8)
        }
        for (number, type) in [(4, "/Type/Metadata"), (5, "/Type/ObjStm/N 1/First 4")] {
            rows[number] = MadePDF.row(bytes.count)
            bytes += Array("\(number) 0 obj".utf8) + MadePDF.stream("\(type)/Filter/FlateDecode", bomb)
        }
        #expect(PDFFacts.read(MadePDF.withCrossReferenceStream(bytes, rows))?.pages == 2)
        var budget = PDFBudget(for: 0)
        budget.output = 1000
        let keys: PDFDictionary = ["Filter": .name("FlateDecode")]
        #expect(PDFFilter.decode(bomb[...], by: keys, &budget)?.count == 1000)
        #expect(PDFFilter.decode(bomb[...], by: keys, &budget) == nil)
    }

    /// Deflate blocks with fixed codes: a zero and 258 repetitions.
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
        #expect(PDFFacts.read(MadePDF.file([2: pages]))?.pages == nil)
    }

    @Test(arguments: ["0", "-3", "2.5", "99999999", "(2)", "[2]", "9 0 R", "3"])
    func countThatCannotBeIsNotTold(count: String) {
        let pages = "<</Type/Pages/Count \(count)/Kids[]>>"
        #expect(PDFFacts.read(MadePDF.file([2: pages], trailer: "/Size 4"))?.pages == (count == "3" ? 3 : nil))
    }

    @Test(arguments: [
        "<</Filter/Standard>>", "<</Filter/Standard/V 5/R 6/U()/UE()/StrF/S>>",
        "<</Filter/Standard/V 4/R 4/O()/U()/P 0/StrF/S>>",
        "<</Filter/Adobe.PubSec/V 4/StrF/S/CF<</S<</CFM/AESV2>>>>>>", "9 0 R", "(x)", "<</Filter/Standard/V 99/R 99>>",
        "<</Filter/Standard/V 2/R 3/Length 99999999/O(0123456789012345)/U(0123456789012345)/P -4>>",
    ])
    func encryptedStringsAreNotTold(encryption: String) {
        let facts = PDFFacts.read(MadePDF.file(trailer: "/Encrypt \(encryption)"))
        #expect(facts?.title == nil)
        #expect(facts?.authors == nil)
        #expect(facts?.pages == 2)
    }
}
