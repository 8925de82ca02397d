import Samples
import Testing

@testable import Pages

/// The decoders of the Encoding Standard (encoding.spec.whatwg.org).
@Suite struct EncodingTests {
    private func decode(_ bytes: [UInt8], _ label: String) -> String {
        String(decoding: Charset.decode(bytes, contentType: "text/html; charset=\(label)").utf8, as: UTF8.self)
    }

    @Test(
        arguments: [
            ("gb2312", [0xC4, 0xE3, 0xBA, 0xC3, 0x21], "你好!"), ("gbk", [0x80, 0x81, 0x40], "€丂"),
            ("gb18030", [0x81, 0x30, 0x81, 0x30], "\u{80}"), ("gb18030", [0x94, 0x39, 0xDA, 0x33], "💩"),
            ("gb18030", [0xA6, 0xD9, 0xFE, 0x59], "\u{FE10}\u{9FB4}"),
            ("gb18030", [0x81, 0x35, 0xF4, 0x37], "\u{E7C7}"),
            ("big5", [0xA7, 0x41, 0xA6, 0x6E], "你好"), ("big5", [0x88, 0x62, 0x88, 0x64], "Ê̄Ê̌"),
            ("big5-hkscs", [0x87, 0x40], "䏰"), ("euc-kr", [0xC7, 0xD1, 0xB1, 0xDB], "한글"),
            ("ks_c_5601-1987", [0x81, 0x41], "갂"), ("euc-jp", [0xC6, 0xFC, 0xCB, 0xDC, 0x8E, 0xB1], "日本ｱ"),
            ("euc-jp", [0x8F, 0xB0, 0xA1], "丂"), ("shift_jis", [0x93, 0xFA, 0x96, 0x7B, 0xB1, 0x5C, 0x7E], "日本ｱ\\~"),
            ("windows-31j", [0x87, 0x40, 0xF0, 0x40], "①\u{E000}"),
            ("iso-2022-jp", [0x1B, 0x24, 0x42, 0x46, 0x7C, 0x1B, 0x28, 0x42, 0x41], "日A"),
            ("iso-2022-jp", [0x1B, 0x28, 0x4A, 0x5C, 0x7E, 0x1B, 0x28, 0x49, 0x31], "¥‾ｱ"),
            ("koi8-u", [0xA4, 0xAE, 0xBE], "єўЎ"), ("macintosh", [0xDB, 0x8E], "€é"),
            ("windows-1252", [0x80, 0x81, 0x9F], "€\u{81}Ÿ"), ("latin1", [0x93, 0x94], "“”"),
            ("windows-1255", [0xE0, 0xD9], "א\u{FFFD}"), ("iso-8859-8-i", [0xE0], "א"),
            ("x-user-defined", [0x80], "\u{F780}"),
            ("windows-874", [0xA1], "ก"), ("iso-8859-16", [0xA4], "€"), ("x-mac-cyrillic", [0xFF], "€"),
            ("utf-8", [0xF0, 0x9F, 0x41], "\u{FFFD}A"), ("hz-gb-2312", [0x41], "\u{FFFD}"),
        ] as [(String, [UInt8], String)])
    func bytesBecomeCharacters(label: String, bytes: [UInt8], text: String) { #expect(decode(bytes, label) == text) }

    /// A lead byte must not consume a following `<`, which would let scripts pass filters.
    @Test(arguments: ["gb18030", "big5", "euc-kr", "euc-jp", "shift_jis"])
    func noLeadByteSwallowsAscii(label: String) {
        for lead in UInt8(0x81)...0xFE {
            let text = decode([lead, 0x3C, 0x62, 0x3E], label)
            #expect(text.hasSuffix("<b>"), "\(label) \(lead)")
        }
    }

    @Test(arguments: ["gb18030", "gbk", "big5", "euc-kr", "euc-jp", "shift_jis", "iso-2022-jp"])
    func textCutAnywhereEndsWell(label: String) {
        var random = SplitMix(seed: 7)
        for _ in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                [
                    0x1B, 0x24, 0x42, 0x28, 0x30, 0x39, 0x81, 0x8E, 0x8F, 0xFE, 0xFF,
                    UInt8.random(in: 0...255, using: &random),
                ]
                .randomElement(using: &random) ?? 0
            }
            #expect(decode(bytes, label).utf8.count <= bytes.count * 3)
        }
    }
}
