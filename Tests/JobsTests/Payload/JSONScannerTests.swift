import Foundation
import Jobs
import Testing

/// The strict reading of JSON at the border.
@Suite struct JSONScannerTests {
    @Test(arguments: [
        "null", " true ", "\t\r\nfalse", "0", "-0", "1", "-1", "0.5", "-0.0", "1e5", "1E+5", "1e-05", "1.25e3",
        "123456789012345678901234567890", "1e400", #""""#, #""a""#, #""é""#, "\"\u{7F}\"", "\"\u{2028}\"",
        "\"\u{FFFF}\"",
        #""\"\\\/\b\f\n\r\t""#, #""\u0041""#, #""\u00e9""#, #""\uD83D\uDE00""#, #""\ud83d\ude00""#, #""\uFFFF""#,
        "[]", "[ ]", "[1]", "[1,2 , 3]", "[[],[[]]]", "{}", "{ }", #"{"a":1}"#, #"{"a":{"a":1}}"#,
        #"[{"a":1},{"a":2}]"#, #"{"":0}"#, #"{"a":1,"A":2}"#, #"{"a\nb":1,"a b":2}"#,
    ])
    func valueOfRFC8259IsTaken(text: String) throws {
        let json = try JSONText(checking: Array(text.utf8))
        #expect(json.bytes == Array(text.utf8))
        #expect(try isTakenByFoundation(json.compact))
    }

    /// Foundation refuses, besides, what a Double cannot hold.
    private func isTakenByFoundation(_ json: JSONText) throws -> Bool {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(json.bytes), options: .fragmentsAllowed)
            return true
        } catch let error as NSError {
            return "\(error.userInfo)".contains("not representable")
        }
    }

    @Test(arguments: [
        ("", 0), (" ", 1), ("nul", 0), ("nulll", 4), ("True", 0), ("NaN", 0), ("-", 0), ("+1", 0), ("01", 1),
        ("-01", 2),
        ("1.", 2), (".5", 0), ("1e", 2), ("1e+", 3), ("0x1", 1), ("1 2", 2), ("1,", 1), ("--1", 0), ("Infinity", 0),
        ("'a'", 0), (#"""#, 1), (#""a"#, 2), (#""\"#, 2), (#""\x""#, 1), (#""\u12""#, 3), (#""\u12G4""#, 5),
        ("\"\n\"", 1), ("\"\u{1F}\"", 1), ("\"\0\"", 1), (#""\uD83D""#, 1), (#""\uD83Dx""#, 1),
        (#""\uD83D\u0041""#, 1), (#""\uDE00""#, 1), (#""\uDE00\uD83D""#, 1), ("[", 1), ("]", 0), ("[1", 2), ("[1,]", 3),
        ("[,1]", 1), ("[1 2]", 3), ("{", 1), ("}", 0), ("{1:2}", 1), (#"{"a"}"#, 4), (#"{"a":}"#, 5), (#"{"a":1,}"#, 7),
        (#"{"a" 1}"#, 5), (#"{,}"#, 1), (#"{"a":1 "b":2}"#, 7), (#"{a:1}"#, 1), ("//\n1", 0), ("/**/1", 0),
        ("\u{FEFF}1", 0), ("\u{A0}1", 0), ("\u{0B}1", 0), ("[1}", 2), (#"{"a":1]"#, 6),
    ])
    func whatIsNoJSONIsRefusedWithItsPlace(text: String, offset: Int) {
        let problem = #expect(throws: JSONProblem.self) { try JSONText(checking: Array(text.utf8)) }
        guard case .malformed(let found, _) = problem else {
            Issue.record("\(text) gave \(String(describing: problem))")
            return
        }
        #expect(found == offset, "\(text)")
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0x80, 0x22], [0x7B, 0x22, 0xE9, 0x22, 0x3A, 0x31, 0x7D],
        ] as [[UInt8]])
    func stringThatIsNotUTF8IsRefused(bytes: [UInt8]) {
        #expect(throws: JSONProblem.malformed(offset: bytes[0] == 0x7B ? 1 : 0, expected: "a string in UTF-8")) {
            try JSONText(checking: bytes)
        }
    }

    @Test(arguments: [
        (#"{"a":1,"a":2}"#, "a", 7), (#"{"a":1,"\u0061":2}"#, "a", 7), (#"{"\u0061":1,"a":2}"#, "a", 12),
        (#"{"😀":1,"\uD83D\uDE00":2}"#, "😀", 10), (#"{"x":{"b":1,"c":2,"b":3}}"#, "b", 18),
        (#"[{"/":1,"\/":1}]"#, "/", 8),
        // Names that look the same are the same to Swift, and so to whoever reads them by name.
        (#"{"\u00e9":1,"e\u0301":2}"#, "e\u{301}", 12),
    ])
    func nameThatStandsTwiceIsRefused(text: String, name: String, offset: Int) {
        #expect(throws: JSONProblem.duplicateName(name, offset: offset)) { try JSONText(checking: Array(text.utf8)) }
    }

    @Test func nulIsRefusedHoweverItIsWritten() {
        #expect(throws: JSONProblem.nulInString(offset: 2)) { try JSONText(checking: Array(#""a\u0000""#.utf8)) }
        #expect(throws: JSONProblem.nulInString(offset: 2)) { try JSONText(checking: Array(#"{"\u0000":1}"#.utf8)) }
    }

    @Test func depthIsLimited() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(throws: Never.self) { try JSONText(checking: nested(128)) }
        #expect(throws: JSONProblem.tooDeep(limit: 128)) { try JSONText(checking: nested(130)) }
        let objects = String(repeating: #"{"a":"#, count: 200_000)
        #expect(throws: JSONProblem.tooDeep(limit: 128)) { try JSONText(checking: Array(objects.utf8)) }
    }

    @Test func sizeIsLimited() throws {
        let bytes = Array("\"\(String(repeating: "a", count: 98))\"".utf8)
        #expect(throws: Never.self) { try JSONText(checking: bytes, limit: 100) }
        #expect(throws: JSONProblem.tooLarge(bytes: 100, limit: 99)) { try JSONText(checking: bytes, limit: 99) }
    }

    /// Whatever bytes come, the scanner ends, and what it takes Foundation takes too.
    @Test func mutatedJSONNeverSlipsThrough() throws {
        var random = SeededGenerator()
        let seeds = [#"{"a":[1,-2.5e3,"x\u00e9\n"],"b":{"c":null,"d":true}}"#, #"["\uD83D\uDE00",{"":[[]]},0]"#]
        for _ in 0..<5000 {
            var bytes = Array(seeds.randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let at = bytes.indices.randomElement(using: &random)!
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: at)
                default: bytes.insert(bytes.randomElement(using: &random)!, at: at)
                }
                if bytes.isEmpty { bytes = [0x30] }
            }
            do throws(JSONProblem) {
                let json = try JSONText(checking: bytes)
                let isTaken = (try? isTakenByFoundation(json)) ?? false  // an error is a no
                #expect(isTaken, "seed \(random.seed): \(json.string)")
            } catch {
                continue
            }
        }
    }
}
