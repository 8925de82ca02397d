import Testing

@testable import Jobs

@Suite struct HiddenCharacterTests {
    @Test(arguments: [
        "\u{0}", "\u{7}", "\u{1B}[31m", "a\nb", "a\r", "\t", "\u{7F}", "\u{85}", "\u{9B}", "\u{AD}", "\u{200B}",
        "\u{200D}",
        "\u{200F}", "\u{2028}", "\u{2029}", "\u{202A}", "\u{202E}x", "\u{2060}", "\u{2066}", "\u{2069}", "\u{FEFF}",
        "\u{3164}",
        "\u{FFFE}", "\u{E0041}",
    ])
    func isFound(_ text: String) { #expect(HiddenCharacter(in: "name " + text) != nil) }

    @Test(arguments: [
        "", "save-link", "Küche 7", "日本語", "مرحبا", "❤️ \u{1F600}", "a\u{301}", "“quoted” — 50 %", "\u{10FFFD}",
    ])
    func isNotFoundInWhatShows(_ text: String) { #expect(HiddenCharacter(in: text) == nil) }

    /// Unicode's control, line separator and format characters are hidden, except visible marks.
    @Test func unicodeHasNoOtherHiddenCharacters() {
        let shown: Set<UInt32> = [0x6DD, 0x70F, 0x8E2, 0x110BD, 0x110CD]
        // Every block with such a character, and some others: all of Unicode would take too long.
        let blocks: [ClosedRange<UInt32>] = [
            0...0x30FF, 0xFD00...0xFFFF, 0x110B0...0x110D0, 0x13420...0x13450, 0x1BC90...0x1BCB0, 0x1D160...0x1D190,
            0xDFFF0...0xE1010,
        ]
        let rest = stride(from: UInt32(0), through: 0x10FFFF, by: 1009)
        for value in blocks.joined().map(\.self) + Array(rest) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator:
                #expect(HiddenCharacter.isHidden(scalar), "\(String(value, radix: 16))")
            case .format:
                let isShown =
                    shown.contains(value) || (0x600...0x605).contains(value) || (0x890...0x891).contains(value)
                    || (0x13430...0x1343F).contains(value)
                #expect(HiddenCharacter.isHidden(scalar) != isShown, "\(String(value, radix: 16))")
            default: break
            }
        }
    }

    @Test func descriptionNamesCodeAndSort() {
        func text(_ name: String) -> String? { HiddenCharacter(in: name).map { "\($0)" } }
        #expect(text("a\u{1B}b") == "U+001B, a control character")
        #expect(text("a\nb") == "U+000A, a line break")
        #expect(text("a\u{202E}b") == "U+202E, which changes the direction of the text")
        #expect(text("a\u{200B}b") == "U+200B, which is invisible")
    }

    @Test func submissionsAndDefinitionsAreRefusedByFieldAndCharacter() throws {
        let catalog = Fixtures.catalog
        let input = try JSONText(checking: Array("{\"query\":\"x\"}".utf8))
        #expect(throws: RequestProblem.hiddenCharacter(HiddenCharacter(in: "\u{7}")!, field: "the key")) {
            _ = try catalog.plan(Submission(.definition("find"), input: input, key: "a\u{7}"))
        }
        let jobs = [JobRequest(definition: "find", input: input)]
        #expect(throws: RequestProblem.hiddenCharacter(HiddenCharacter(in: "\u{202E}")!, field: "the graph's name")) {
            _ = try catalog.plan(Submission(.jobs(jobs, name: "a\u{202E}")))
        }
        let change = DefinitionChange(definitions: [Definition(name: "new", kind: "fetch", summary: "a\u{1B}[2J")])
        let problems = catalog.check(change).map(\.description)
        #expect(problems.contains { $0.hasSuffix("summary: it contains U+001B, a control character; remove it") })
    }
}
