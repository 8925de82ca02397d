import Testing

@testable import Commands

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("plain text ~", "plain text ~"),
        ("\u{1B}[31mred\u{1B}[0m", "\\x1b[31mred\\x1b[0m"),
        ("\u{1B}]0;title\u{07}", "\\x1b]0;title\\x07"),
        ("a\nb\r\tc\u{0}", "a\\nb\\r\\tc\\x00"),
        ("del\u{7F}", "del\\x7f"),
        ("csi \u{9B}2J nel \u{85}", "csi \\u009b2J nel \\u0085"),
        ("file\u{202E}gpj.exe", "file\\u202egpj.exe"),
        ("\u{2066}isolate\u{2069} \u{200E}\u{200F}\u{61C}", "\\u2066isolate\\u2069 \\u200e\\u200f\\u061c"),
        ("line\u{2028}par\u{2029}", "line\\u2028par\\u2029"),
        ("zero\u{200B}width\u{FEFF} soft\u{AD}hyphen", "zero\\u200bwidth\\ufeff soft\\u00adhyphen"),
        ("tag\u{E0041}", "tag\\U000e0041"),
        ("non\u{FFFE}", "non\\ufffe"),
        ("Grüße, 世界, 👩‍👩‍👧, می‌خواهم", "Grüße, 世界, 👩‍👩‍👧, می‌خواهم"),
    ])
    func dangerousCharactersBecomeVisible(text: String, shown: String) {
        #expect(TerminalText.safe(text) == shown)
    }

    @Test func everyControlAndBidirectionalCharacterIsEscaped() {
        let bidirectional: [UInt32] = [0x61C, 0x200E, 0x200F] + Array(0x202A...0x202E) + Array(0x2066...0x2069)
        for value in Array(0..<0x20) + Array(0x7F..<0xA0) + bidirectional {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let shown = TerminalText.safe("a" + String(scalar) + "b")
            #expect(!shown.unicodeScalars.contains(scalar), "U+\(String(value, radix: 16))")
        }
    }

    @Test(arguments: [
        (#"{"a":"plain"}"#, #"{"a":"plain"}"#),
        ("{\"a\":\"\u{202E}x\u{9B}\u{7F}\"}", #"{"a":"\u202ex\u009b\u007f"}"#),
        ("[\n\t\"\u{E0041}é\"\n]", "[\n\t\"\\udb40\\udc41é\"\n]"),
    ])
    func jsonKeepsItsValue(json: String, shown: String) {
        #expect(String(decoding: TerminalText.safe(json: Array(json.utf8)), as: UTF8.self) == shown)
    }

    @Test(arguments: [
        ("abc", 3), ("Grüße", 5), ("世界", 4), ("é", 1), ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("한국", 4), ("ａ", 2), ("✓", 1),
        ("می‌خواهم", 7), ("", 0),
    ])
    func widthIsWhatATerminalShows(text: String, width: Int) {
        #expect(text.displayWidth == width)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("世界人", 5, "世界…"), ("世界人", 4, "世…"), ("abc", 1, "…"),
        ("abc", 0, ""),
    ])
    func cutTextKeepsItsWidth(text: String, width: Int, cut: String) {
        #expect(text.truncated(to: width) == cut)
    }

    @Test func interpolatedTextIsMadeSafe() {
        let name = "evil\u{1B}[2J"
        let text: StyledText = "job \(name) is \("done\u{202E}", .green)"
        #expect(text.plain == "job evil\\x1b[2J is done\\u202e")
        #expect(text.rendered(colours: true) == "job evil\\x1b[2J is \u{1B}[32mdone\\u202e\u{1B}[0m")
        #expect(text.rendered(colours: false) == text.plain)
    }
}
