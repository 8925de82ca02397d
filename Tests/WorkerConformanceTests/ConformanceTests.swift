import Jobs
import Programs
import Testing
import WorkerConformance

@Suite struct ConformanceTests {
    @Test func aSwiftWorkerPassesEveryCheck() async {
        let results = await WorkerConformance(
            command: [binary("SampleWorker")], input: JSONText(trusted: Array(#"{"action":"save","number":2}"#.utf8))
        ).results()
        #expect(results.filter { $0.verdict != .passed }.isEmpty)
        #expect(results.count == 19)
    }

    /// Each script is a worker with one defect.
    @Test(arguments: [
        ("exit 0", "introduction", "it exited with status 0 (expected an introduction (kinds))"),
        ("echo hello", "introduction", "a line on standard output is not a message"),
        ("printf x", "introduction", "its last line on standard output has no line break"),
        ("sleep 600", "introduction", "it did not answer within 2 seconds (expected an introduction (kinds))"),
        (#"echo '{"type":"kinds","protocol":2,"kinds":[{"name":"k"}]}'"#, "introduction", "it speaks version 2"),
        (#"echo '{"type":"kinds","protocol":1,"kinds":[]}'"#, "introduction", "it announces no kinds"),
        (#"echo '{"type":"kinds","protocol":1,"kinds":[{"name":"K"}]}'"#, "introduction", "is not a valid name"),
        (
            #"echo '{"type":"kinds","protocol":1,"kinds":[{"name":"k"},{"name":"k"}]}'"#, "introduction",
            "it announces the kind k twice"
        ),
        (
            #"echo '{"type":"refused","settings":[{"key":"a.b","message":"is missing; write it"}]}'"#, "introduction",
            "it refuses the settings: a.b is missing; write it"
        ),
        (
            Self.introduction + "while read line; do :; done", "ping",
            "it did not answer within 1 seconds (expected pong)"
        ),
        (
            Self.introduction
                + #"read run; echo '{"type":"succeeded","job":1,"attempt":1,"output":1}'; sleep 600"#,
            "run", "it sent succeeded for attempt 1 of job 1 before started"
        ),
        (
            Self.introduction + #"read run; echo '{"type":"started","attempts":[{"job":9,"attempt":1}]}'; sleep 600"#,
            "run",
            "it started attempt 1 of job 9, which it was not given"
        ),
        (
            Self.introduction + Self.start
                + #"echo '{"type":"checkpoint","job":2,"attempt":1,"id":1,"checkpoint":1}'; sleep 600"#, "checkpoint",
            "it sent a checkpoint for attempt 1 of job 2, which it was not given"
        ),
        (
            Self.introduction + Self.start
                + #"echo '{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":1}'; read answer; "#
                + #"case $answer in *'"checkpointed"'*) echo '{"type":"failed","job":1,"attempt":1,"code":"a","message":"b"}';; esac; sleep 600"#,
            "refused checkpoint", "it did not answer within 1 seconds (expected the end of attempt 1 of job 1)"
        ),
        (
            Self.introduction + Self.start
                + #"printf '{"type":"checkpoint","job":1,"attempt":1,"id":1,"checkpoint":"%070000d"}\n' 0; sleep 600"#,
            "checkpoint", "a checkpoint of attempt 1 of job 1 has 70002 bytes; the limit is 65536"
        ),
        (
            Self.introduction + "while read line; do :; done; sleep 600", "end of input",
            "it did not answer within 1 seconds"
        ),
        (Self.introduction + "read drain; exit 3", "idle drain", "it exited with status 3"),
        (Self.introduction + "kill -9 $$", "idle drain", "a signal ended it"),
    ])
    func aDefectIsFoundAndExplained(_ script: String, _ check: String, _ reason: String) async throws {
        var conformance = WorkerConformance(command: ["sh", "-c", script])
        conformance.attemptLimit = .seconds(1)
        conformance.answerLimit = .seconds(1)
        let result = try #require(await conformance.results().first { $0.name == check })
        #expect(result.verdict == .failed)
        #expect(result.reason?.contains(reason) == true, "\(result.reason ?? "")")
    }

    /// The program answers everything except attempts. The check of an unknown kind does not wait for the same answer.
    @Test func checksThatNeedAnAnswerThatDidNotComeAreSkipped() async {
        let script = #"""
            read hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"k","checks":true,"cleans_up":true}]}'
            while read line; do
                case $line in
                *'"ping"'*) echo '{"type":"pong","id":7}' ;;
                *'"check"'*) echo '{"type":"checked","id":3,"refusals":[null,null]}' ;;
                *'"clean_up"'*) echo '{"type":"cleaned_up","id":4}' ;;
                *'"drain"'*) exit 0 ;;
                esac
            done
            """#
        var conformance = WorkerConformance(command: ["sh", "-c", script])
        conformance.attemptLimit = .seconds(1)
        conformance.answerLimit = .seconds(60)
        let results = await conformance.results()
        let names = { (verdict: WorkerConformance.Result.Verdict) in
            results.filter { $0.verdict == verdict }.map(\.name)
        }
        #expect(names(.failed) == ["run", "unknown kind", "large input"], "\(results)")
        #expect(
            names(.skipped) == [
                "two attempts", "outputs", "stop", "checkpoint", "refused checkpoint", "foreign checkpoint", "recorded",
                "drain",
            ])
        #expect(
            Set(results.filter { $0.verdict == .skipped }.map(\.reason))
                == ["the program did not answer in time in the check \"run\""])
    }

    /// The program introduces itself, and answers nothing else.
    @Test func aProgramWithoutAnAnswerIsAskedOnce() async {
        let introduction = #"{"type":"kinds","protocol":1,"kinds":[{"name":"k","checks":true,"cleans_up":true}]}"#
        let script =
            "read hello; echo '\(introduction)'; while read line; do case $line in *'\"drain\"'*) exit 0;; esac; done"
        var conformance = WorkerConformance(command: ["sh", "-c", script])
        conformance.attemptLimit = .seconds(1)
        conformance.answerLimit = .seconds(10)
        let results = await conformance.results()
        #expect(results.filter { $0.verdict == .failed }.map(\.name) == ["ping"], "\(results)")
        #expect(
            Set(results.filter { $0.verdict == .skipped }.map(\.reason))
                == ["the program did not answer in time in the check \"ping\""])
        #expect(
            results.filter { $0.verdict == .skipped }.map(\.name) == [
                "run", "unknown kind", "large input", "two attempts", "outputs", "stop", "checkpoint",
                "refused checkpoint", "foreign checkpoint", "recorded", "check", "clean up", "drain",
            ])
    }

    @Test func aProgramThatIsMissingFailsTheFirstCheck() async {
        let results = await WorkerConformance(command: ["/nowhere/worker"]).results()
        #expect(results.first?.reason == "/nowhere/worker cannot be started: No such file or directory")
        #expect(results.dropFirst().allSatisfy { $0.verdict == .skipped })
    }

    private static let start = #"read run; echo '{"type":"started","attempts":[{"job":1,"attempt":1}]}'; "#
    private static let introduction =
        #"read hello; echo '{"type":"kinds","protocol":1,"kinds":[{"name":"k"}]}'; "#
}
