import OperationTypes
import Testing

@testable import Jobs

@Suite struct ProgramDefinitionTests {
    private func definition(_ json: String) throws(ShapeProblem) -> ProgramDefinition {
        try ProgramDefinition(json: JSONText(trusted: Array(json.utf8)), at: [])
    }

    private func problem(_ json: String) -> String? {
        do throws(ShapeProblem) {
            _ = try definition(json)
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func arguments(_ json: String, _ input: String) throws -> [String] {
        let program = try definition(json)
        let input = try program.completed(try JSONText(checking: Array(input.utf8)))
        return try program.arguments(for: input, output: "/w/output")
    }

    @Test func everyPartIsKeptInItsJSON() throws {
        let text =
            #"{"program":["/usr/bin/convert","{file}","-resize","{width}x","png:{output}"],"fields":{"file":{"type":"string","required":true},"width":{"type":"integer","default":320},"style":{"type":"string","choices":["a","b"],"summary":"S"}},"stdin":"json","result":"file","exit":{"2":{"fail":"bad_image"},"3":"succeed","74":{"retry":"busy"},"75":"retry"},"limits":{"memory":"512MiB","cpu":2,"processes":64,"file":"2GiB","log":"4MiB"},"environment":{"A":"1","TZ":"UTC"}}"#
        let program = try definition(text)
        #expect(program.json.string == text)
        #expect(try definition(program.json.string) == program)
        #expect(program.fields?.map(\.name) == ["file", "width", "style"])
    }

    @Test func defaultsAreTheSafeOnes() throws {
        let program = try definition(#"{"program":["/bin/true"]}"#)
        #expect(program.standardInput == .json)
        #expect(program.result == .none)
        #expect(program.fields == nil)
        #expect(program.limits == ProgramLimits())
    }

    @Test(arguments: [
        (#"{}"#, "program: is missing; it is required"),
        (#"{"program":[]}"#, "program: the list is empty; begin it with the absolute path of an executable"),
        (#"{"program":["convert"]}"#, "program.0: expected the absolute path of an executable, found \"convert\""),
        (#"{"program":["/bin/{x}"]}"#, "program.0: a job cannot choose the executable; write a path without { and }"),
        (#"{"program":["/bin/a",3]}"#, "program.1: expected a string, found 3; put it in quotes"),
        (
            #"{"program":["/bin/a","{x"]}"#,
            "program.1: contains a single \"{\"; write \"{{\" for the character, or {name} for a field"
        ),
        (
            #"{"program":["/bin/a","x}"]}"#,
            "program.1: contains a single \"}\"; write \"}}\" for the character, or {name} for a field"
        ),
        (#"{"program":["/bin/a","{x}"]}"#, "program.1: unknown field \"x\"; describe it under \"fields\""),
        (
            #"{"program":["/bin/a","{fiel}"],"fields":{"file":{}}}"#,
            "program.1: unknown field \"fiel\"; did you mean \"file\"?"
        ),
        (#"{"program":["/bin/a","{output}"]}"#, "program.1: {output} is allowed only with result: file; add it"),
        (
            #"{"program":["/bin/a"],"result":"file"}"#,
            "result: is file, but no argument contains {output}; add one"
        ),
        (
            #"{"program":["/bin/a","{x}"],"fields":{"x":{"type":"object"}}}"#,
            "program.1: the field \"x\" is an object, which cannot be an argument; let the program read it from standard input"
        ),
        (
            #"{"program":["/bin/a"],"stdin":"none","fields":{"x":{}}}"#,
            "fields.x: no argument contains {x}; add one, or write stdin: json"
        ),
        (
            #"{"program":["/bin/a"],"fields":{"x":{"required":true,"default":"y"}}}"#,
            "fields.x.default: a required field has no default; remove one of them"
        ),
        (
            #"{"program":["/bin/a"],"fields":{"x":{"type":"integer","default":"y"}}}"#,
            "fields.x.default: the field \"x\" must be a whole number, found a string"
        ),
        (
            #"{"program":["/bin/a"],"fields":{"output":{}}}"#,
            "fields.output: the name is reserved; rename the field"
        ),
        (
            #"{"program":["/bin/a"],"exit":{"0":"retry"}}"#,
            "exit.0: expected an exit code from 1 to 255; 0 always succeeds"
        ),
        (
            #"{"program":["/bin/a"],"exit":{"1":"ignore"}}"#,
            "exit.1: expected retry, succeed, {retry: CODE} or {fail: CODE}, found \"ignore\""
        ),
        (
            #"{"program":["/bin/a"],"exit":{"1":{"fail":"Bad"}}}"#,
            "exit.1.fail: \"Bad\" is not a failure code; use a-z, 0-9 and \"_\""
        ),
        (
            #"{"program":["/bin/a"],"environment":{"LD_PRELOAD":"/x"}}"#,
            "environment.LD_PRELOAD: makes the program load other code; set it in a script that runs the program"
        ),
        (
            #"{"program":["/bin/a"],"environment":{"HALYARD_JOB":"1"}}"#,
            "environment.HALYARD_JOB: is set by the daemon; remove it"
        ),
        (
            #"{"program":["/bin/a"],"environment":{"A=B":"1"}}"#,
            "environment.A=B: is not a valid variable name; use letters, digits and \"_\""
        ),
        (
            #"{"program":["/bin/a"],"limits":{"memory":"1KiB"}}"#,
            "limits.memory: expected \(ByteSize.validText(in: 1 << 20...1 << 50)), found \"1KiB\""
        ),
        (
            #"{"program":["/bin/a"],"limits":{"output":"1KiB"}}"#,
            "limits.output: is allowed only with result: text, json or lines; limit a file with \"file\""
        ),
    ])
    func badDefinitionsAreRefusedWithTheRemedy(_ json: String, _ expected: String) {
        #expect(problem(json) == expected)
    }

    // MARK: Arguments

    private static let echo =
        #"{"program":["/bin/a","{text}","n={count}","{{{flag}}}","--","{rest}"],"fields":{"text":{},"count":{"type":"number","default":3},"flag":{"type":"boolean"},"rest":{}}}"#

    @Test(arguments: [
        (#"{"text":"a b"}"#, ["a b", "n=3", "--"]),
        (
            #"{"text":"a'b\"c\n$(d) `e` ;*","count":1.50,"flag":true}"#,
            ["a'b\"c\n$(d) `e` ;*", "n=1.50", "{true}", "--"]
        ),
        (#"{"count":-7,"rest":"-x"}"#, ["n=-7", "--", "-x"]),
        (#"{"text":"","flag":null,"rest":"{text}"}"#, ["", "n=3", "--", "{text}"]),
        (#"{"text":"/bin/sh","count":2e3}"#, ["/bin/sh", "n=2000", "--"]),
    ])
    func aValueIsOneArgumentOrAPartOfOne(_ input: String, _ expected: [String]) throws {
        #expect(try arguments(Self.echo, input) == expected)
    }

    @Test func aValueCannotBecomeAnOption() throws {
        #expect(throws: ProgramInputProblem.self) { try arguments(Self.echo, #"{"text":"-o"}"#) }
        let pair = #"{"program":["/bin/a","{a}{b}"],"fields":{"a":{},"b":{}}}"#
        #expect(throws: ProgramInputProblem.self) { try arguments(pair, #"{"a":"","b":"-o"}"#) }
        #expect(try arguments(pair, #"{"a":"x","b":"-o"}"#) == ["x-o"])
        let number = #"{"program":["/bin/a","{n}"],"fields":{"n":{"type":"integer"}}}"#
        #expect(throws: ProgramInputProblem.self) { try arguments(number, #"{"n":-1}"#) }
    }

    /// Otherwise the option would take the next argument, such as `--`, as its value.
    @Test(arguments: [
        (#"["/bin/grep","-e","{a}","--","{file}"]"#, "program.2", "-e", "write --option={a} as one argument"),
        (#"["/bin/sort","-o","{a}","{file}"]"#, "program.2", "-o", "write --option={a} as one argument"),
        (#"["/bin/head","-n","-{a}","--","{file}"]"#, "program.2", "-n", "write --option={a} as one argument"),
        (#"["/bin/a","--","{file}","-x{file}","{a}"]"#, "program.4", "-x{file}", "write --option={a} as one argument"),
        (#"["/bin/a","-v","--b={a}","{file}"]"#, "program.2", "-v", "put this argument before \"-v\""),
    ])
    func anArgumentThatMayBeLeftOutCannotFollowAnOption(
        _ program: String, _ path: String, _ option: String, _ remedy: String
    ) {
        #expect(
            problem(#"{"program":\#(program),"fields":{"a":{},"file":{"required":true}}}"#)
                == "\(path): is left out if the field \"a\" is missing, and then \"\(option)\" takes the next argument as its value; give the field a default, require it, or \(remedy)"
        )
        for isAlwaysThere in [#"{"required":true}"#, #"{"default":"x"}"#] {
            #expect(
                problem(#"{"program":\#(program),"fields":{"a":\#(isAlwaysThere),"file":{"required":true}}}"#) == nil)
        }
        // A null default leaves the field without a value.
        #expect(
            problem(#"{"program":\#(program),"fields":{"a":{"default":null},"file":{"required":true}}}"#) != nil)
    }

    @Test(arguments: [
        #"["/bin/a","--b={a}","--c={b}","--","{a}","{b}"]"#, #"["/bin/a","{a}","-v","--","{b}"]"#,
        #"["/bin/sh","-c","x","sh","{a}","{b}"]"#,
    ])
    func anArgumentThatMayBeLeftOutCanFollowAnythingElse(_ program: String) {
        #expect(problem(#"{"program":\#(program),"fields":{"a":{},"b":{}}}"#) == nil)
    }

    // MARK: Lists

    private static let list =
        #"{"program":["/bin/a","x","{tags}","y"],"fields":{"tags":{"type":"strings"}}}"#

    @Test(
        arguments: [
            (
                #"{"tags":["a","b c","$(id)","*","\"","\n",""," -x"]}"#,
                ["a", "b c", "$(id)", "*", "\"", "\n", "", " -x"]
            ),
            (#"{"tags":["{tags}","{output}","--"]}"#, nil), (#"{"tags":[]}"#, []), (#"{"tags":null}"#, []), ("{}", []),
            (#"{"tags":["-o"]}"#, nil), (#"{"tags":["a","--b"]}"#, nil), (#"{"tags":["a",1]}"#, nil),
            (#"{"tags":["a",["b"]]}"#, nil), (#"{"tags":["a",null]}"#, nil), (#"{"tags":"a"}"#, nil),
            (#"{"tags":{"0":"a"}}"#, nil),
        ] as [(String, [String]?)])
    func eachStringOfAListIsOneArgument(_ input: String, _ expected: [String]?) throws {
        guard let expected else {
            #expect(throws: ProgramInputProblem.self) { try arguments(Self.list, input) }
            return
        }
        #expect(try arguments(Self.list, input) == ["x"] + expected + ["y"])
    }

    @Test func aListMayContainOptionsAfterTheirEnd() throws {
        let text = #"{"program":["/bin/a","--","{tags}"],"fields":{"tags":{"type":"strings"}}}"#
        #expect(try arguments(text, #"{"tags":["-o","--"]}"#) == ["--", "-o", "--"])
        let optional = #"{"program":["/bin/a","--","{tags}","{x}"],"fields":{"tags":{"type":"strings"},"x":{}}}"#
        #expect(try arguments(optional, #"{"x":"-y"}"#) == ["--", "-y"])
    }

    @Test func aListIsBounded() throws {
        func list(_ count: Int) -> String {
            #"{"tags":[\#(Array(repeating: #""x""#, count: count).joined(separator: ","))]}"#
        }
        #expect(try arguments(Self.list, list(1000)).count == 1002)
        #expect(
            throws: ProgramInputProblem(
                description: "the list \"tags\" has 1001 strings; the limit is 1000. Split the job")
        ) { try arguments(Self.list, list(1001)) }
        let null = JSONText(trusted: Array(#"{"tags":["a","b\u0000c"]}"#.utf8))
        #expect(throws: ProgramInputProblem.self) { try definition(Self.list).completed(null) }
        let field = try #require(try definition(Self.list).fields?.first)
        #expect(throws: ProgramInputProblem.self) {
            try field.strings(in: JSONText(trusted: Array(#"["a","b\u0000c"]"#.utf8)))
        }
    }

    @Test func theRefusalOfAStringNamesItsPosition() throws {
        func problem(_ input: String) -> String? {
            #expect(throws: ProgramInputProblem.self) { try arguments(Self.list, input) }?.description
        }
        let option = problem(#"{"tags":["a","-o"]}"#)
        #expect(option?.hasPrefix("the string at position 2 of the list \"tags\" begins with \"-\"") == true)
        // Only a field of the type string gets the path of a copy.
        #expect(
            problem(#"{"tags":["a","b","spool:m1-2-3/x"]}"#)
                == "the list \"tags\" contains a file in the spool at position 3; hand over each file in a field of the type string"
        )
        #expect(try arguments(Self.list, #"{"tags":["spool:x"]}"#) == ["x", "spool:x", "y"])
    }

    /// The kernel limits each argument to 128 KiB with its NUL byte, and would refuse to start the program.
    @Test func anArgumentIsBounded() throws {
        func x(_ count: Int) -> String { String(repeating: "x", count: count) }
        let remedy =
            "has 131072 bytes; the limit for an argument is 131071. Let the program read the text from standard input or from a file"
        #expect(try arguments(Self.list, #"{"tags":["\#(x(131_071))"]}"#)[1].utf8.count == 131_071)
        #expect(
            throws: ProgramInputProblem(description: "the string at position 2 of the list \"tags\" \(remedy)")
        ) { try arguments(Self.list, #"{"tags":["a","\#(x(131_072))"]}"#) }
        let plain = #"{"program":["/bin/a","--b={a}"],"fields":{"a":{}}}"#
        #expect(try arguments(plain, #"{"a":"\#(x(131_067))"}"#)[0].utf8.count == 131_071)
        #expect(throws: ProgramInputProblem(description: "the argument with the field \"a\" \(remedy)")) {
            try arguments(plain, #"{"a":"\#(x(131_068))"}"#)
        }
        #expect(problem(#"{"program":["/bin/a","\#(x(131_071))"]}"#) == nil)
        #expect(
            problem(#"{"program":["/bin/a","\#(x(131_072))"]}"#)
                == "program.1: has 131072 bytes; the limit for an argument is 131071. Put the text in a file")
    }

    @Test func aRequiredListHasAString() throws {
        let text = #"{"program":["/bin/a","{tags}"],"fields":{"tags":{"type":"strings","required":true}}}"#
        #expect(try arguments(text, #"{"tags":["x"]}"#) == ["x"])
        #expect(
            throws: ProgramInputProblem(description: "the list \"tags\" is empty; add at least one string")
        ) { try arguments(text, #"{"tags":[]}"#) }
    }

    @Test func aListKeepsItsTypeAndItsDefault() throws {
        let text =
            #"{"program":["/bin/a","{tags}"],"fields":{"tags":{"type":"strings","default":["a","b"]}},"stdin":"none","result":"none"}"#
        #expect(try definition(text).json.string == text)
        #expect(try arguments(text, "{}") == ["a", "b"])
        #expect(try arguments(text, #"{"tags":[]}"#) == [])
        let fields = try definition(text).fields
        #expect(fields?.map(\.isList) == [true] && fields?.map(\.field.shape) == [.array])
    }

    @Test(arguments: [
        (
            #"["/bin/a","x{tags}"]"#, "{}",
            "program.1: the field \"tags\" is a list, which can only be a whole argument; write {tags} alone, or let the program read it from standard input"
        ),
        (
            #"["/bin/a","--tags={tags}"]"#, "{}",
            "program.1: the field \"tags\" is a list, which can only be a whole argument; write {tags} alone, or let the program read it from standard input"
        ),
        (
            #"["/bin/a","{tags}{tags}"]"#, "{}",
            "program.1: the field \"tags\" is a list, which can only be a whole argument; write {tags} alone, or let the program read it from standard input"
        ),
        (
            #"["/bin/a","-e","{tags}","--"]"#, #"{"required":true}"#,
            "program.2: the field \"tags\" is a list; \"-e\" takes only its first string as its value; write \"--\" or an argument that is not an option before {tags}"
        ),
        (
            #"["/bin/a","-e","{tags}","--"]"#, "{}",
            "program.2: the field \"tags\" is a list; if it is empty, \"-e\" takes the next argument as its value; write \"--\" or an argument that is not an option before {tags}"
        ),
        (
            #"["/bin/a","{tags}"]"#, #"{"default":["a",1]}"#,
            "fields.tags.default: the list \"tags\" contains a number at position 2; only strings are allowed"
        ),
        (
            #"["/bin/a","{tags}"]"#, #"{"default":["a","spool:m1-2-3/x"]}"#,
            "fields.tags.default: the list \"tags\" contains a file in the spool at position 2; hand over each file in a field of the type string"
        ),
        (
            #"["/bin/a","{tags}"]"#, #"{"default":"a"}"#,
            "fields.tags.default: the field \"tags\" must be a list of strings, found a string"
        ),
        (
            #"["/bin/a","{tags}"]"#, #"{"choices":["a"]}"#,
            "fields.tags.choices: expected a list of strings for a field of the type string"
        ),
    ])
    func aListThatCouldBeMisreadIsRefused(_ program: String, _ field: String, _ expected: String) {
        let rest = field == "{}" ? "}" : "," + field.dropFirst()
        let text = #"{"program":\#(program),"fields":{"tags":{"type":"strings"\#(rest)}}"#
        #expect(problem(text) == expected)
    }

    @Test func theOutputIsAPathInAnArgument() throws {
        let json = #"{"program":["/bin/a","png:{output}"],"result":"file"}"#
        #expect(try arguments(json, "{}") == ["png:/w/output"])
    }

    @Test func aNullByteIsRefused() throws {
        let program = try definition(Self.echo)
        // No JSON text with this character is accepted, and a text that was not checked is refused as well.
        let input = JSONText(trusted: Array(#"{"text":"a\u0000b"}"#.utf8))
        #expect(throws: ProgramInputProblem.self) { try program.completed(input) }
    }

    // MARK: The catalog

    private static let kind = KindDescription(
        name: "program", summary: "Runs a program", inputType: "Program.Input", outputType: "Program.Output",
        accepts: "[AnyOutput]", offers: "Program.Output", fields: [])

    private func catalog(_ definitions: [Definition]) -> Catalog {
        Catalog(DefinitionSet(kinds: [Self.kind], definitions: Fixtures.stored(definitions)))
    }

    @Test func inputsAreCheckedAgainstTheDefinitionsOwnFields() throws {
        let json =
            #"{"name":"t","kind":"program","program":["/bin/a","{file}","{n}"],"fields":{"file":{"required":true},"n":{"type":"integer","default":3}}}"#
        let definition = try Definition(json: JSONText(trusted: Array(json.utf8)), at: [])
        #expect(try Definition(json: definition.json, at: []) == definition)
        let catalog = catalog([definition])
        #expect(catalog.problems == [])
        func problems(_ input: String?) -> [String] {
            catalog.problems(of: Submission(.definition("t"), input: input.map { JSONText(trusted: Array($0.utf8)) }))
                .map { "\($0)" }
        }
        #expect(problems(#"{"file":"x"}"#) == [])
        #expect(problems(nil) == ["the field \"file\" is missing; add it"])
        #expect(problems(#"{"file":3}"#) == ["the field \"file\" must be a string, found a number"])
        #expect(
            problems(#"{"file":"x","program":["/bin/sh"]}"#) == ["unknown field \"program\"; the fields are file, n"])
        let input = try catalog.input(for: "t", arguments: ["a", "5"], sets: [])
        #expect(input?.string == #"{"file":"a","n":5}"#)
    }

    @Test func theFieldsOfAProgramBelongToItsKind() {
        let json = #"{"name":"t","kind":"upload","program":["/bin/a"]}"#
        #expect(throws: ShapeProblem(path: ["program"], message: "is allowed only with kind: program; remove it")) {
            try Definition(json: JSONText(trusted: Array(json.utf8)), at: [])
        }
        let problems = catalog([Definition(name: "t", kind: "program")]).problems
        #expect(problems.map(\.reason) == [.badProgram(isMissing: true)])
    }

    /// Without fields, a program that reads standard input accepts any object; one that reads nothing accepts none.
    @Test(arguments: [("json", true), ("none", false)])
    func aProgramWithoutFieldsAcceptsWhatItReads(_ stdin: String, _ isAccepted: Bool) throws {
        let json = #"{"name":"t","kind":"program","program":["/bin/a"],"stdin":"\#(stdin)"}"#
        let catalog = catalog([try Definition(json: JSONText(trusted: Array(json.utf8)), at: [])])
        let problems = catalog.problems(
            of: Submission(.definition("t"), input: JSONText(trusted: Array(#"{"x":1}"#.utf8))))
        #expect(problems.isEmpty == isAccepted)
    }
}
