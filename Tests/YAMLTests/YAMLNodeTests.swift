import Testing
import YAML

@Suite struct YAMLNodeTests {
    @Test func valuesKeepTheirLineStyleAndTag() throws {
        let root = try #require(
            try YAMLNode(
                """
                # A comment is no value.
                plain: 12
                quoted: "12"
                tagged: !!str 12
                list:
                  - a
                  - {b: c}
                """))
        guard case .mapping(let members) = root.content else {
            Issue.record("\(root) is no map")
            return
        }
        #expect(members.map(\.name.scalar?.text) == ["plain", "quoted", "tagged", "list"])
        #expect(members.map(\.name.line) == [2, 3, 4, 5])
        #expect(members[0].value.scalar?.isPlain == true)
        #expect(members[0].value.scalar?.tag == nil)
        #expect(members[1].value.scalar?.text == "12")
        #expect(members[1].value.scalar?.isPlain == false)
        #expect(members[2].value.scalar?.tag == "tag:yaml.org,2002:str")
        guard case .sequence(let elements) = members[3].value.content else {
            Issue.record("\(members[3].value) is no list")
            return
        }
        #expect(elements.map(\.line) == [6, 7])
    }

    @Test func aByteOrderMarkIsNoPartOfTheText() throws {
        let root = try #require(try YAMLNode("\u{FEFF}a: 1\nb: 2\n"))
        guard case .mapping(let members) = root.content else {
            Issue.record("\(root) is no map")
            return
        }
        #expect(members.map(\.name.scalar?.text) == ["a", "b"])
    }

    @Test(arguments: ["", "# only a comment\n", "---\n...\n"])
    func aTextWithoutAValueIsNoError(text: String) throws {
        let node = try YAMLNode(text)
        #expect(node?.scalar?.text ?? "" == "")
    }

    @Test func anAliasIsWhatItNames() throws {
        let root = try #require(try YAMLNode("[&a x, *a]"))
        guard case .sequence(let elements) = root.content else {
            Issue.record("\(root) is no list")
            return
        }
        #expect(elements.map(\.scalar?.text) == ["x", "x"])
    }

    /// Two to the power of 60 values, if they were written out.
    @Test func aliasesOfAliasesTakeNoMemory() throws {
        let levels = (1...60).map { "a\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]\n" }.joined()
        #expect(try YAMLNode("a0: &a0 x\n" + levels) != nil)
    }

    /// Each level names the one before: a value as deep as there are anchors, in a line each.
    private static func chain(levels: Int) -> String {
        "a0: &a0 [1]\n" + (1..<levels).map { "a\($0): &a\($0) [*a\($0 - 1)]\n" }.joined()
    }

    @Test func aliasesStandAsDeepAsTheyAreHigh() throws {
        // The last list stands in a map, and a number in the first.
        #expect(try YAMLNode(Self.chain(levels: 98)) != nil)
        let problem = #expect(throws: YAMLProblem.self) { try YAMLNode(Self.chain(levels: 99)) }
        #expect(problem?.line == 99)
        #expect(problem?.message == "values are nested more than 100 levels deep; use fewer levels")
    }

    /// To let go of what was read took as much stack as it was deep.
    @Test func aChainOfAHundredThousandAliasesIsRefused() {
        #expect(throws: YAMLProblem.self) { try YAMLNode("? [x]\n: 1\n" + Self.chain(levels: 100_000)) }
    }

    @Test(arguments: [
        ("a: [1, 2", 2, "did not find expected ',' or ']'"), ("a: 1\n b: 2", 2, "mapping values are not allowed"),
        ("a: *b", 1, "the alias *b has no anchor before it"), ("&a [*a]", 1, "the alias *a has no anchor before it"),
        ("a: 1\nb: 2\na: 3", 3, "the name \"a\" occurs twice in one map; remove one"),
        ("a: 1\n---\nb: 2", 2, "a second document begins here; write only one"),
        ("a: b\n\u{1}", 2, "write such a character as an escape"),
        ("a:\n\t- b", 2, "a tab is used where only spaces are allowed; indent with spaces"),
        ("ä: 1\nb:\n \tc: 2", 3, "a tab is used where only spaces are allowed"), ("- a\n-\tb: 1", 2, "a tab is used"),
    ])
    func aProblemSaysItsLineAndWhatIsWrong(text: String, line: Int, message: String) {
        let problem = #expect(throws: YAMLProblem.self) { try YAMLNode(text) }
        #expect(problem?.line == line)
        #expect(problem?.message.contains(message) == true, "\(problem?.message ?? "")")
    }

    @Test(arguments: ["[", "- "])
    func deepNestingIsAProblemAndNoCrash(opening: String) {
        let problem = #expect(throws: YAMLProblem.self) { try YAMLNode(String(repeating: opening, count: 200_000)) }
        #expect(problem?.message == "values are nested more than 100 levels deep; use fewer levels")
    }
}
