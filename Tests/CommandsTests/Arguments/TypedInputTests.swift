import Jobs
import Testing

@testable import Commands

@Suite struct TypedInputTests {
    private func resolve(
        _ name: String, arguments: [String] = [], set: [String] = [], base: String? = nil
    ) throws -> ResolvedInput? {
        let object = base.flatMap { JSONObject(JSONText(trusted: Array($0.utf8))) }
        let typed = try TypedInput(base: object, assignments: set, arguments: arguments)
        return try typed.resolve(for: name, in: Samples.definitions)
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
                == #"{"url":"http://a/","store.file":"/srv/x","resolve.max_hops":2}"#)
    }

    @Test func valuesHaveTheShapeOfTheirField() throws {
        #expect(
            try json("unfurl", arguments: ["12", "7", "method=GET"], set: ["headers={\"A\":\"b\"}"])
                == #"{"url":"12","max_hops":7,"headers":{"A":"b"},"method":"GET"}"#)
    }

    @Test func whatIsTypedJoinsTheFile() throws {
        #expect(
            try json("unfurl", arguments: ["http://a/"], base: #"{"max_hops":1}"#)
                == #"{"max_hops":1,"url":"http://a/"}"#)
    }

    @Test func nothingTypedIsNoInput() throws { #expect(try json("unfurl") == nil) }

    @Test func fieldsCalledFileNameFiles() throws {
        let input = try resolve("upload", arguments: ["photo.jpg", "http://files/"])
        #expect(input?.files.map(\.field) == ["file"])
        #expect(input?.files.map(\.path) == ["photo.jpg"])
        #expect(try resolve("save-link", set: ["store.file=x"])?.files.map(\.field) == ["store.file"])
        // Paths in a document are not relative to the user's working directory.
        #expect(try resolve("upload", arguments: ["url=http://b/"], base: #"{"file":"x"}"#)?.files.isEmpty == true)
    }

    @Test(arguments: [
        ("unfurl", ["a", "1", "GET", "{}", "e"], ExitCode.data), ("unfurl", ["max_hop=1"], .data),
        ("unfurl", ["url=a", "url=b"], .data), ("unfurl", ["a", "many"], .data), ("unfrl", ["a"], .noInput),
        ("save-link", ["resolve.urll=x"], .data), ("broken", ["a"], .configuration),
    ])
    func mistakesNameTheRemedy(name: String, arguments: [String], code: ExitCode) throws {
        let failure = try #require(throws: CommandFailure.self) { try json(name, arguments: arguments) }
        #expect(failure.exit == code)
        let file = ([name] + arguments).joined(separator: "-").filter { $0.isLetter || $0.isNumber || $0 == "-" }
        try Golden.expect(failure.message + "\n", "input/\(file).txt")
    }

    @Test func anAssignmentNeedsAValue() {
        #expect(throws: CommandFailure(.usage, "--set url has no value. Write it as --set field=value.")) {
            try json("unfurl", set: ["url"])
        }
    }

    @Test func theDefinitionIsAskedForOnlyWhenItMatters() throws {
        let base = JSONObject(.emptyObject)
        #expect(try !TypedInput(base: nil, assignments: [], arguments: []).needsDefinitions)
        #expect(try !TypedInput(base: base, assignments: [], arguments: []).needsDefinitions)
        #expect(try TypedInput(base: nil, assignments: ["url=x"], arguments: []).needsDefinitions)
        #expect(try TypedInput(base: nil, assignments: [], arguments: ["x"]).needsDefinitions)
    }
}
