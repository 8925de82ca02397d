import Jobs
import Testing

@testable import Commands

@Suite struct TypedInputTests {
    private func resolve(
        _ name: String, arguments: [String] = [], set: [String] = [], base: String? = nil
    ) throws -> ResolvedInput? {
        let object = base.flatMap { JSONObject(JSONText(trusted: Array($0.utf8))) }
        let typed = TypedInput(base: object, assignments: set, arguments: arguments)
        return try typed.resolve(InputForm(name, in: Samples.definitions), name: name)
    }

    private func json(
        _ name: String, arguments: [String] = [], set: [String] = [], base: String? = nil
    ) throws -> String? {
        try resolve(name, arguments: arguments, set: set, base: base)?.object.text.string
    }

    @Test func argumentsFillFieldsInTheirOrder() throws {
        #expect(try json("unfurl", arguments: ["http://a/", "3"]) == #"{"url":"http://a/","max_hops":3}"#)
    }

    @Test func parametersOfAGraphAreItsArguments() throws {
        #expect(
            try json("save-link", arguments: ["http://a/", "http://b/?x=y"])
                == #"{"url":"http://a/","to":"http://b/?x=y"}"#)
    }

    @Test func anyFieldOfAnyNodeHasAName() throws {
        #expect(
            try json("save-link", arguments: ["resolve.max_hops=2", "http://a/"], set: ["store.file=/srv/x"])
                == #"{"store.file":"/srv/x","resolve.max_hops":2,"url":"http://a/"}"#)
    }

    @Test func namedFieldsAreSkippedByTheOrder() throws {
        #expect(
            try json("unfurl", arguments: ["url=http://a/", "7", "method=GET"], set: ["headers={\"A\":\"b\"}"])
                == #"{"headers":{"A":"b"},"url":"http://a/","max_hops":7,"method":"GET"}"#)
    }

    @Test func whatIsTypedStandsOverTheFile() throws {
        #expect(
            try json("unfurl", arguments: ["url=http://new/"], base: #"{"url":"http://old/","max_hops":1}"#)
                == #"{"url":"http://new/","max_hops":1}"#)
        // A field of the file counts as given.
        #expect(
            try json("unfurl", arguments: ["4"], base: #"{"url":"http://old/"}"#)
                == #"{"url":"http://old/","max_hops":4}"#)
    }

    @Test func nothingTypedIsNoInput() throws { #expect(try json("unfurl") == nil) }

    @Test func fieldsCalledFileNameFiles() throws {
        let input = try resolve("upload", arguments: ["photo.jpg", "http://files/"])
        #expect(input?.files.map(\.field) == ["file"])
        #expect(input?.files.map(\.path) == ["photo.jpg"])
        #expect(try resolve("save-link", set: ["store.file=x"])?.files.map(\.field) == ["store.file"])
    }

    @Test(arguments: [
        (
            ["a", "b", "c", "d", "e"],
            "unfurl takes only url, max_hops, method, headers; e is left over. See: halyard definitions show unfurl"
        ),
        (["max_hop=1"], "unfurl has no field max_hop. Did you mean max_hops?"),
        (
            ["colour=1"],
            "unfurl has no field colour. See: halyard definitions show unfurl; for the text itself write url=colour=1"
        ),
        (["url=a", "url=b"], "The field url is given twice. Give it once."),
    ])
    func mistakesNameTheRemedy(arguments: [String], message: String) {
        #expect(throws: CommandFailure(.usage, message)) { try json("unfurl", arguments: arguments) }
    }

    @Test func anAssignmentNeedsAValue() {
        #expect(throws: CommandFailure(.usage, "--set url has no value. Write it as --set field=value.")) {
            try json("unfurl", set: ["url"])
        }
    }

    @Test func theDefinitionIsAskedForOnlyWhenItMatters() {
        func needs(_ arguments: [String], _ set: [String]) -> Bool {
            TypedInput(base: nil, assignments: set, arguments: arguments).needsForm
        }
        #expect(!needs([], []))
        #expect(!needs([], ["url=http://a/"]))
        #expect(needs(["http://a/"], []))
        #expect(needs([], ["max_hops=3"]))
        #expect(needs([], ["store.file=x"]))
    }
}

@Suite struct FieldTextTests {
    @Test(
        arguments: [
            ("text", .string, #""text""#), ("12", .string, #""12""#), (#""quoted""#, .string, #""quoted""#),
            ("12", .integer, "12"), ("1.5", .integer, #""1.5""#), ("x", .integer, #""x""#), ("1.5", .number, "1.5"),
            ("2", .number, "2"), ("true", .boolean, "true"), ("yes", .boolean, #""yes""#), ("[1]", .array, "[1]"),
            ("[1", .array, #""[1""#), (#"{"a":1}"#, .object, #"{"a":1}"#), ("null", .string, #""null""#),
            ("", .string, #""""#),
            ("a\"\n\u{7}", .string, #""a\"\n\u0007""#),
        ] as [(String, InputField.Shape, String)])
    func textBecomesJSONOfTheShape(text: String, shape: InputField.Shape, json: String) {
        #expect(FieldText.value(text, shape: shape).string == json)
    }

    @Test(arguments: [
        ("12", "12"), ("true", "true"), (#""q""#, #""\"q\"""#), ("null", #""null""#), ("plain", #""plain""#),
    ])
    func withoutAShapeJSONBesideStringsIsTaken(text: String, json: String) {
        #expect(FieldText.value(text, shape: nil).string == json)
    }
}
