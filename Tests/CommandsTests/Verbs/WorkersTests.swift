import Jobs
import Programs
import Testing

@testable import Commands

@Suite struct WorkersTests {
    @Test func aWorkerThatFollowsTheProtocolSucceeds() async throws {
        let (code, output) = await Self.test(["--input", #"{"action":"would end"}"#, "--", binary("SampleWorker")])
        #expect(code == .success)
        try Golden.expect(output, "workers-test.txt")
    }

    @Test func aBrokenRuleIsPrintedWithItsReason() async {
        let (code, output) = await Self.test(["--", "sh", "-c", "exit 3"])
        #expect(code == .data)
        let first = output.split(separator: "\n").first
        #expect(
            first
                == "failed   introduction: it exited with status 3 (expected an introduction (kinds)). Rule: It answers hello with the kinds that it runs."
        )
    }

    @Test func checksThatWereSkippedTogetherAreOneLine() async {
        let (_, output) = await Self.test(["--", "sh", "-c", "exit 3"])
        #expect(output.split(separator: "\n").count == 2)
        #expect(output.hasSuffix("\nskipped 18 checks, since the program did not introduce itself\n"), "\(output)")
    }

    @Test func aKindThatIsNotAnnouncedIsAUsageError() async {
        let errors = Capture()
        let (code, output) = await Self.test(["--kind", "nope", "--", binary("SampleWorker")], errors: errors)
        #expect(code == .usage)
        #expect(!output.contains("failed"))
        #expect(
            errors.text.hasPrefix("halyard: --kind: unknown kind \"nope\". The program announces "), "\(errors.text)")
    }

    /// A pipe and `--json` get only the results.
    @Test func theRunningCheckIsShownOnATerminal() async {
        let arguments = ["--", "sh", "-c", "exit 3"]
        let (code, output) = await Self.test(arguments, terminal: (200, 50))
        #expect(code == .data)
        #expect(output.hasPrefix("checking introduction\n"), "\(output)")
        #expect(output.contains("failed   introduction: it exited with status 3"), "\(output)")
        for more in [[], ["--json"]] {
            #expect(!(await Self.test(more + arguments).1.contains("checking")))
            #expect(!(await Self.test(["--json"] + more + arguments, terminal: (200, 50)).1.contains("checking")))
        }
    }

    @Test func theFailureOfTheJobIsPrinted() async throws {
        let input = #"{"action":"fail","text":"no such picture"}"#
        let (code, output) = await Self.test(["--input", input, "--", binary("SampleWorker")])
        #expect(code == .success)
        #expect(output.contains("passed   run: the job failed with chosen: no such picture\n"), "\(output)")
        let (_, json) = await Self.test(["--json", "--input", input, "--", binary("SampleWorker")])
        let results = try JSONText(checking: Array(json.utf8)).elements?.compactMap(JSONObject.init) ?? []
        let run = try #require(results.first { $0["check"]?.decodedString == "run" })
        #expect(run["outcome"]?.decodedString == "failed")
        #expect(run["code"]?.decodedString == "chosen")
        #expect(run["message"]?.decodedString == "no such picture")
    }

    @Test func theResultsAreAvailableAsJSON() async throws {
        let (code, output) = await Self.test(["--json", "--", "/nowhere/worker"])
        #expect(code == .data)
        let results = try JSONText(checking: Array(output.utf8)).elements ?? []
        #expect(
            results.first?.string
                == #"{"check":"introduction","result":"failed","rule":"It answers hello with the kinds that it runs.","reason":"/nowhere/worker cannot be started: No such file or directory"}"#
        )
        #expect(results.count == 19)
    }

    private static func test(
        _ arguments: [String], terminal: (width: Int, height: Int)? = nil, errors: Capture = Capture()
    ) async -> (ExitCode, String) {
        let output = Capture()
        let code = await HalyardCommandLine.run(
            ["workers", "test"] + arguments, in: .captured(output: output, errors: errors, terminal: terminal))
        return (code, output.text)
    }
}
