import Testing

@testable import Pages

@Suite struct PDFTextTests {
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
