import Jobs
import OperationTypes
import Testing

@Suite struct RetryPolicyCodingTests {
    private static let policies: [RetryPolicy] = [
        .standard, .never, RetryPolicy(tries: 1000, delay: .constant(.milliseconds(1500)), failures: .any),
        RetryPolicy(
            tries: 3, delay: .exponential(initial: .milliseconds(250), multiplier: 1.5, cap: .seconds(5400)),
            failures: .codes(["timed_out", "http_503"])),
        RetryPolicy(tries: 4, delay: .list([.zero, .seconds(10), .seconds(86_400)]), jitter: .full),
    ]

    @Test(arguments: policies) func policySurvivesItsJSON(policy: RetryPolicy) throws {
        #expect(try RetryPolicy(json: policy.json) == policy)
    }

    @Test func formIsThatOfTheDocument() {
        #expect(
            RetryPolicy.standard.json.string
                == #"{"tries":5,"delay":"exponential","initial":"1s","multiplier":2,"cap":"5m","jitter":"full","on":"retryable"}"#
        )
        #expect(
            RetryPolicy(tries: 2, delay: .list([.seconds(90)]), failures: .codes(["b", "a"])).json.string
                == #"{"tries":2,"delay":"list","delays":["1m30s"],"jitter":"none","on":["a","b"]}"#)
    }

    @Test(arguments: [
        ("{}", RetryPolicy.standard),
        (#"{"tries":1}"#, RetryPolicy(tries: 1, delay: RetryPolicy.standard.delay, jitter: .full)),
        (#"{"delay":"none"}"#, RetryPolicy(tries: 5)),
        (#"{"delay":"constant","initial":"10s"}"#, RetryPolicy(tries: 5, delay: .constant(.seconds(10)))),
        (
            #"{"initial":"10m"}"#,
            RetryPolicy(
                tries: 5, delay: .exponential(initial: .seconds(600), multiplier: 2, cap: .seconds(600)),
                jitter: .full)
        ),
    ])
    func whatIsLeftOutHasItsDefault(text: String, policy: RetryPolicy) throws {
        #expect(try RetryPolicy(json: Fixtures.json(text)) == policy)
    }

    @Test(arguments: [
        (#"[]"#, "expected an object, found an array; write {tries: 5}"),
        (#"{"attempts":3}"#, #"attempts: unknown field "attempts"; it is now called "tries""#),
        (#"{"trise":3}"#, #"trise: unknown field "trise"; did you mean "tries"?"#),
        (
            #"{"backoff":3}"#,
            #"backoff: unknown field "backoff"; the fields are cap, delay, delays, initial, jitter, multiplier, on, tries"#
        ),
        (#"{"tries":0}"#, "tries: expected 1 to 1000, found 0"),
        (#"{"tries":1001}"#, "tries: expected 1 to 1000, found 1001"),
        (#"{"tries":2.5}"#, "tries: expected a whole number, found 2.5"),
        (#"{"tries":"5"}"#, #"tries: expected a whole number, found "5""#),
        (#"{"delay":"exponentail"}"#, #"delay: unknown value "exponentail"; did you mean "exponential"?"#),
        (#"{"delay":"linear"}"#, #"delay: unknown value "linear"; use one of constant, exponential, list, none"#),
        (#"{"delay":5}"#, "delay: expected a string, found 5; put it in quotes"),
        (#"{"delay":"constant"}"#, "initial: is missing; it is required"),
        (#"{"delay":"list"}"#, "delays: is missing; it is required"),
        (#"{"delay":"list","delays":[]}"#, "delays: expected 1 to 100 durations, found 0"),
        (
            #"{"delay":"list","delays":["1s",5]}"#,
            "delays.1: expected a duration such as 250ms, 30s, 5m, 1h30m or 2d, found 5"
        ),
        (
            #"{"initial":"soon"}"#,
            #"initial: expected a duration such as 250ms, 30s, 5m, 1h30m or 2d, found "soon""#
        ),
        (#"{"initial":"0s"}"#, "initial: expected at least 1ms; to retry without a wait, write delay: none"),
        (#"{"initial":"1m","cap":"30s"}"#, "cap: 30s is shorter than the first wait, 1m; raise it"),
        (#"{"cap":"366d"}"#, "cap: 366d is longer than 365d; shorten it"),
        (#"{"multiplier":0.5}"#, "multiplier: expected 1 to 100, found 0.5"),
        (#"{"multiplier":101}"#, "multiplier: expected 1 to 100, found 101.0"),
        (#"{"multiplier":"2"}"#, #"multiplier: expected a number, found "2""#),
        (
            #"{"delay":"none","initial":"1s"}"#,
            "initial: is allowed only with delay: constant or delay: exponential, not with delay: none; remove it"
        ),
        (
            #"{"delay":"constant","initial":"1s","cap":"5s"}"#,
            "cap: is allowed only with delay: exponential, not with delay: constant; remove it"
        ),
        (#"{"delays":["1s"]}"#, "delays: is allowed only with delay: list, not with delay: exponential; remove it"),
        (#"{"jitter":"some"}"#, #"jitter: unknown value "some"; use one of full, none"#),
        (#"{"on":"retriable"}"#, #"on: unknown value "retriable"; did you mean "retryable"?"#),
        (#"{"on":[]}"#, "on: the list is empty; to never retry a job, write tries: 1"),
        (#"{"on":["Bad Code"]}"#, #"on: "Bad Code" is not a failure code; write one such as timed_out"#),
        (#"{"on":[1]}"#, "on.0: expected a failure code such as timed_out, found 1"),
        (#"{"on":{}}"#, "on: expected retryable, any or a list of failure codes, found an object"),
    ])
    func badPolicyIsRefused(text: String, message: String) {
        let problem = #expect(throws: ShapeProblem.self) { try RetryPolicy(json: Fixtures.json(text)) }
        #expect(problem?.description == message)
    }

    @Test func policyMadeInSwiftIsCheckedToo() {
        #expect(
            RetryPolicy(tries: 2, delay: .exponential(initial: .seconds(1), multiplier: .nan, cap: .seconds(2)))
                .problem?.path == ["multiplier"])
        #expect(RetryPolicy(tries: 2, delay: .constant(.seconds(-1))).problem?.path == ["initial"])
        #expect(RetryPolicy(tries: 2, delay: .list([.seconds(-1)])).problem?.path == ["delays"])
        #expect(RetryPolicy.standard.problem == nil)
    }
}
