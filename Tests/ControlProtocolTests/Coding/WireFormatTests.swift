import Jobs
import Testing

@testable import ControlProtocol

/// The JSON itself, which is a promise.
@Suite struct WireFormatTests {
    private func text(_ string: String) -> JSONText { JSONText(trusted: Array(string.utf8)) }

    @Test func jobIsWrittenAsPromised() {
        #expect(
            Samples.leanJob.json.string == """
                {"job":8,"definition":"d","definition_revision":1,"kind":"k","queue":"default","priority":"low",\
                "state":"ready","attempt":0,"tries":0,"max_tries":1,"rescues":0,"pending_dependencies":0,\
                "enqueued_at":"2024-02-29T00:00:00.001Z"}
                """)
    }

    /// The answers of a later release.
    @Test func aFieldOfAnUnknownTypeAcceptsAnyValue() throws {
        let field = try InputField(
            json: text(#"{"name":"f","shape":"matrix","required":true,"from_dependency":false,"summary":""}"#))
        #expect(field.shape == .any)
        let stored = try StoredDefinition(
            json: text(
                #"{"id":1,"name":"a","kind":"program","program":["/bin/a","{f}"],"fields":{"f":{"type":"matrix"}},"revision":1,"updated_at":"2024-02-29T00:00:00.001Z"}"#
            ))
        #expect(stored.definition.program?.fields?.map(\.field.shape) == [.any])
        let program = KindDescription(
            name: "program", summary: "", inputType: "", outputType: "", accepts: nil, offers: "", fields: [])
        let catalog = Catalog(DefinitionSet(kinds: [program], queues: [], definitions: [stored]))
        #expect(catalog.problems.isEmpty)
        func input(_ argument: String) throws -> String? {
            try catalog.input(for: "a", arguments: [argument], sets: [])?.string
        }
        #expect(try input("x") == #"{"f":"x"}"#)
        #expect(try input("[1,2]") == #"{"f":[1,2]}"#)
        // A document that is applied must be of this release.
        #expect(throws: ShapeProblem.self) {
            try Definition(
                json: text(#"{"name":"a","kind":"program","program":["/bin/a"],"fields":{"f":{"type":"matrix"}}}"#))
        }
    }

    @Test func problemIsWrittenByRFC9457() {
        #expect(
            ControlProblem(.notFound, "There is no job 7.", details: ["x"]).json.string == """
                {"type":"urn:halyard:problem:not-found","title":"Not found","status":404,\
                "detail":"There is no job 7.","errors":[{"detail":"x"}]}
                """)
    }

    @Test func shortSpellingsOfDependenciesAreRead() throws {
        let submission = try Submission(
            json: text(#"{"definition":"d","after":[4,{"job":5,"condition":"finished"}],"priority":2}"#))
        #expect(submission.after == [.init(job: JobID(4)), .init(job: JobID(5), condition: .finished)])
        #expect(submission.priority == .veryHigh)
        let graph = try Submission(json: text(#"{"jobs":[{"node":"b","definition":"d","after":["a",4]}]}"#))
        #expect(
            graph.work
                == .jobs(
                    [JobRequest(node: "b", definition: "d", after: [.init(.node("a")), .init(.job(JobID(4)))])],
                    name: nil))
    }

    @Test(arguments: [
        (#"[]"#, "expected an object, found an array"),
        (#"{}"#, "\"definition\" is missing (or \"jobs\", to describe a graph)"),
        (#"{"definition":"a","jobs":[]}"#, "give either \"definition\" or \"jobs\", not both"),
        (#"{"definiton":"a"}"#, "definiton: unknown field \"definiton\"; did you mean \"definition\"?"),
        (#"{"definition":7}"#, "definition: expected a string"),
        (
            #"{"definition":"a","priority":"hihg"}"#,
            "priority: unknown priority \"hihg\"; did you mean \"high\"?"
        ),
        (#"{"definition":"a","at":"tomorrow"}"#, "at: expected a time as \"2024-05-01T12:30:00.000Z\""),
        (#"{"definition":"a","at":"2024-05-01T12:30:00Z","in_ms":5}"#, "give either \"at\" or \"in_ms\", not both"),
        (#"{"definition":"a","in_ms":-1}"#, "in_ms: expected a whole number of milliseconds, 0 or more"),
        (
            #"{"definition":"a","after":[1,{"job":2,"conditon":"x"}]}"#,
            "after.1.conditon: unknown field \"conditon\"; did you mean \"condition\"?"
        ),
        (#"{"definition":"a","after":[0]}"#, "after.0: expected the number of a job"),
        (
            #"{"jobs":[{"definition":"d","after":[{"node":"a","job":1}]}]}"#,
            "jobs.0.after.0: a dependency names either a \"node\" of this graph or an existing \"job\""
        ),
        (
            #"{"jobs":[],"zzzzzzzz":1}"#,
            "zzzzzzzz: unknown field \"zzzzzzzz\"; the fields are after, at, definition, in_ms, input, jobs, key, name, priority, queue"
        ),
    ])
    func wrongSubmissionIsRefusedWithItsReason(json: String, message: String) {
        let error = #expect(throws: ShapeProblem.self) { try Submission(json: text(json)) }
        #expect(error?.description == message)
    }

    @Test func unknownFieldOfAFilterIsRefusedWithTheNearestName() {
        let error = #expect(throws: ShapeProblem.self) { try JobFilter(query: [("queu", "a")]) }
        #expect(error?.description == "queu: unknown field \"queu\"; did you mean \"queue\"?")
        #expect(throws: ShapeProblem.self) { try JobFilter(query: [("limit", "10001")]) }
        #expect(throws: ShapeProblem.self) { try JobFilter(query: [("state", "ready,redy")]) }
    }

    @Test func fieldsOfALaterReleaseAreOverlookedInAnswers() throws {
        #expect(try EnqueueReceipt(json: text(#"{"jobs":[1],"later":true}"#)).jobs == [JobID(1)])
    }
}
