import Jobs
import Testing

@Suite struct ArgumentTests {
    private func input(
        _ name: String, _ arguments: [String] = [], _ sets: [(name: String, value: String)] = [], base: String? = nil
    ) throws(RequestProblem) -> String? {
        try Fixtures.catalog.input(
            for: name, arguments: arguments, sets: sets, base: base.map { Fixtures.json($0) })?.string
    }

    @Test func argumentsFollowTheFields() throws {
        #expect(
            try input("fetch", ["x\"y", "HEAD", "7", "0.5", "true"])
                == #"{"url":"x\"y","method":"HEAD","limit":7,"ratio":0.5,"deep":true}"#)
        #expect(
            try input("fetch", [], [("headers", #"{"a":1}"#), ("tags", "[1, 2]")])
                == #"{"headers":{"a":1},"tags":[1, 2]}"#)
        #expect(try input("fetch", ["x"], base: #"{"limit":3}"#) == #"{"limit":3,"url":"x"}"#)
        #expect(try input("fetch") == nil)
        #expect(try input("fetch", base: "[]") == "[]")
    }

    @Test func argumentsOfAGraphFollowItsParameters() throws {
        #expect(
            try input("chain", ["swift", "there"], [("fetch.limit", "5")])
                == #"{"q":"swift","to":"there","fetch.limit":5}"#)
    }

    /// What the command line asks for.
    @Test func thePartForANameIsEnough() throws {
        let whole = Fixtures.catalog
        #expect(whole.definitions.part(for: "fehtc") == nil)
        #expect(whole.names.contains("chain") && whole.names.contains("fetch"))
        for name in whole.names {
            let part = Catalog(try #require(whole.definitions.part(for: name)))
            #expect(part.problems.isEmpty)
            func answer(_ catalog: Catalog) -> String {
                do {
                    return try catalog.input(for: name, arguments: ["x"], sets: [], base: nil)?.string ?? "none"
                } catch {
                    return "\(error)"
                }
            }
            #expect(answer(part) == answer(whole))
        }
        #expect(whole.definitions.part(for: "fetch")?.definitions.map(\.definition.name) == ["fetch"])
        #expect(whole.definitions.part(for: "fetch")?.kinds.count == 1)
    }

    @Test func numberInAStringStaysAString() throws {
        #expect(try input("find", ["5"]) == #"{"query":"5"}"#)
    }

    @Test func badArgumentsAreRefused() {
        func refusal(
            _ name: String, _ arguments: [String] = [], _ sets: [(name: String, value: String)] = [],
            base: String? = nil
        ) -> String? {
            do throws(RequestProblem) {
                _ = try input(name, arguments, sets, base: base)
                return nil
            } catch {
                return error.description
            }
        }
        #expect(refusal("find", ["a", "b"]) == "2 arguments were given; the maximum is 1 (query)")
        #expect(refusal("raw", ["a"]) == "arguments are not accepted (found 1)")
        #expect(refusal("fetch", [], [("limit", "many")]) == #""limit" must be a whole number"#)
        #expect(refusal("fetch", [], [("limit", "1.5")]) == #""limit" must be a whole number"#)
        #expect(refusal("fetch", [], [("deep", "yes")]) == #""deep" must be true or false"#)
        #expect(refusal("fetch", [], [("tags", "a,b")]) == #""tags" must be an array in JSON"#)
        #expect(refusal("fetch", ["x"], [("url", "y")]) == #""url" is given twice; give it once"#)
        #expect(refusal("fetch", ["x"], base: #"{"url":"y"}"#) == #""url" is given twice; give it once"#)
        #expect(refusal("fetch", ["x"], base: "5") == "the input must be a JSON object, found a number")
        #expect(refusal("fetch", [], [("ulr", "y")]) == #"unknown field "ulr"; did you mean "url"?"#)
        #expect(
            refusal("chain", [], [("find.qery", "y")]) == #"unknown parameter "find.qery"; did you mean "find.query"?"#)
        #expect(refusal("fetsch") == #"unknown definition "fetsch"; did you mean "fetch"?"#)
        #expect(refusal("broken") == #""broken" cannot be used: unknown kind "fetsch"; did you mean "fetch"?"#)
    }
}
