import Samples
import Testing

@testable import Pages

/// Hostile files, unlike those among the golden documents. A trap ends the test process.
@Suite(.serialized, .timeLimit(.minutes(2))) struct PDFCrossReferenceTests {
    @Test func crossReferenceStreamIsReadWithTIFFPredictor() throws {
        let file = MadePDF.withCrossReferenceStream()
        var budget = PDFBudget(for: 0)
        let bytes = try #require(PDFBytes(file, gap: nil))
        #expect(PDFSections.read(bytes, &budget)?.locations.count == 3)
        #expect(PDFFacts.read(file)?.title == "T")
        // An uncompressed deflate block with the differences of `1 2 3` and `4 5 6`.
        let stored: [UInt8] = [0x01, 6, 0, 0xF9, 0xFF, 1, 1, 1, 4, 1, 1]
        let keys: PDFDictionary = [
            "Filter": .name("FlateDecode"),
            "DecodeParms": .dictionary(["Predictor": .integer(2), "Columns": .integer(3)]),
        ]
        #expect(PDFFilter.decode(stored[...], by: keys, &budget) == [1, 2, 3, 4, 5, 6])
    }

    @Test(arguments: [
        "[1 99999999999 1]", "[8 8 8]", "[0 0 0]", "[-1 2 1]", "[1]", "[9223372036854775807 1 1]", "null",
    ])
    func widthsThatMakeNoSenseAreNotUsed(widths: String) {
        MadePDF.expectNoMetadata(MadePDF.withCrossReferenceStream(widths: widths))
    }

    @Test(arguments: ["[0 999999999999]", "[8388607 999]", "[-5 3]", "[9223372036854775807 3]"])
    func indexThatMakesNoSenseIsNotUsed(index: String) {
        MadePDF.expectNoMetadata(MadePDF.withCrossReferenceStream(index: index))
    }

    @Test func crossReferenceStreamThatIsShorterThanItSaysIsUsedToItsEnd() {
        #expect(PDFFacts.read(MadePDF.withCrossReferenceStream(index: "[1 1 2 1 3 1 1 3 1 3]"))?.title == "T")
    }

    @Test func tablesThatLeadInCirclesEnd() {
        let facts = PDFFacts.read(MadePDF.file(trailer: "/Prev {table}/XRefStm {table}"))
        #expect(facts?.pages == 2)
        #expect(facts?.title == "T")
    }

    @Test(arguments: ["/Prev 99999999", "/Prev -1", "/Prev (x)", "/Prev 9", "/XRefStm 9", "/XRefStm 9/Prev {table}"])
    func newerSectionHoldsWhateverTheOlderOneIs(trailer: String) {
        #expect(PDFFacts.read(MadePDF.file(trailer: trailer))?.title == "T")
    }

    @Test func emptyNewestTableLeadsToTheCompleteOneWithoutItsStream() {
        let (bytes, table) = MadePDF.withTable()
        let newest = "xref 0 0 trailer<</Root 1 0 R/Info 3 0 R/Prev \(table)/XRefStm 9>>startxref \(bytes.count)"
        #expect(PDFFacts.read(bytes + Array(newest.utf8))?.title == "T")
    }

    @Test func chainOfTablesThatOverlapEnds() {
        // Each table takes 70 bytes and refers to the next one.
        let start = 4096
        var (bytes, table) = MadePDF.withTable(trailer: "/Prev \(start)")
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
        var (bytes, table) = MadePDF.withTable(trailer: "/Prev \(previous)")
        bytes += [UInt8](repeating: 0x20, count: start - bytes.count) + long + tables
        bytes += Array("startxref \(table)".utf8)
        #expect(PDFFacts.read(bytes)?.pages == 2)
        MadePDF.expectLinearWork(bytes)
    }

    @Test func placesThatLieAreNotBelieved() {
        var (bytes, _) = MadePDF.withTable()
        let start = bytes.count
        bytes += Array("xref\n1 3\n".utf8)
        for place in ["0000000008", "9999999999", "0000000012"] { bytes += Array("\(place) 00000 n \n".utf8) }
        bytes += Array("trailer<</Root 1 0 R/Info 3 0 R>>\nstartxref\n\(start)\n".utf8)
        MadePDF.expectNoMetadata(bytes)
    }

    @Test(arguments: ["1e9", "99999999999999999999", "-1", "", "(", "4000000000"])
    func startThatMakesNoSenseIsNotUsed(start: String) {
        MadePDF.expectNoMetadata(MadePDF.withTable().bytes + Array("startxref \(start)".utf8))
    }

    // MARK: Two ends of a long file

    @Test func objectsAtBothEndsAreRead() throws {
        let ends = try #require(GoldenDocument.all.first { $0.name == "pdf-two-ends" }).document
        let facts = PDFFacts.read(ends, gap: 2000..<3596)
        #expect(facts?.title == "A (b) c")
        #expect(facts?.authors == ["Ém"])
        #expect(facts?.pages == 40)
        // The offsets are wrong if the size of the gap is unknown.
        MadePDF.expectNoMetadata(ends)
    }

    /// The parser omits objects that the gap cuts and reads nothing across the gap.
    @Test func gapAnywhereHidesOnlyWhatIsInIt() {
        let whole = Array("junk".utf8) + MadePDF.file([3: "<</Title(A longer title)/Author(An author)>>"])
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
    func gapThatMakesNoSenseNeverTraps(gap: Range<Int>) { _ = PDFFacts.read(MadePDF.file(), gap: gap) }
}
