import ControlProtocol
import Foundation
import Jobs
import Testing

@testable import Commands

/// Hints for users who do not know the daemon well.
@Suite struct NewUserTests {
    private static let long = JobFailure(
        code: "http_status",
        message: "The server answered 503 Service Unavailable to http://a/, three times in a row. Try again later.")

    // MARK: Where no daemon answers

    @Test(arguments: [["list"], ["show", "1"], ["why", "1"], ["queues"], ["graph", "1"], ["list", "--json"]])
    func whatADaemonLeftRunningIsNotSaidToRun(verb: [String]) async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=/srv/x")
        try await shop.withStore { store in
            _ = try await store.exchange([], claim: ClaimRequest(slots: 1), now: Samples.now)
        }
        let run = try await shop.run(verb)
        #expect(run.code == .success)
        #expect(
            run.errors
                == "halyard: no daemon is running; jobs shown as running were interrupted and run again when halyardd starts\n"
        )
        if verb.first == "why" { #expect(run.output.contains("Start halyardd with the same --config as before")) }
    }

    // MARK: Why something failed

    @Test func whoWaitsLearnsWhyItFailed() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "unfurl", "http://b/", "--after", "1")
        try await shop.runReadyJobs { _ in .failed(Self.long) }
        let why = "halyard: job 1 failed: http_status: \(Self.long.message) See: halyard show 1\n"
        let run = try await shop.run("wait", "1", "2")
        #expect(run.code == .jobFailed)
        #expect(run.errors == why)
        let skipped = try await shop.run("wait", "2")
        #expect(skipped.code == .jobSkipped)
        #expect(
            skipped.errors.hasPrefix(
                "halyard: job 2 skipped: dependency_failed: Its dependency, job 1 (unfurl), failed."))
        try await RunningDaemon.with(shop) { _ in
            for verb in [["wait", "1"], ["watch", "1"], ["wait", "1", "--json"], ["watch", "1", "--json"]] {
                let run = try await shop.run(verb)
                #expect(run.code == .jobFailed)
                #expect(run.errors == why)
            }
        }
    }

    @Test func whyTellsOfTheDependencyThatFailed() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "unfurl", "http://b/", "--after", "1")
        try await shop.runReadyJobs { _ in .failed(Self.long) }
        try Golden.expect(try await shop.run("why", "1").output, "verbs/why-failed.txt")
        try Golden.expect(try await shop.run("why", "2").output, "verbs/why-skipped.txt")
        try Golden.expect(try await shop.run("why", "2", "--json").output, "verbs/why-skipped.json")
    }

    @Test func onANarrowTerminalAMessageIsWrappedAndNotCut() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        try await shop.runReadyJobs { _ in .retry(Self.long, after: .seconds(28)) }
        try Golden.expect(try await shop.run(["show", "1"], terminal: (80, 24)).output, "verbs/show-narrow.txt")
        // A final job has no next try.
        #expect(try await shop.run("show", "1").output.contains("next try in 30s"))
        #expect(try await shop.run("cancel", "1").code == .success)
        #expect(!(try await shop.run("show", "1").output.contains("next try")))
    }

    // MARK: Names and numbers

    @Test(arguments: [
        (["--queue", "slwo"], "Unknown queue \"slwo\"; did you mean \"slow\"? See: halyard queues list"),
        (
            ["--definition", "unfrl"],
            "Unknown definition \"unfrl\"; did you mean \"unfurl\"? See: halyard definitions list"
        ),
        (["--kind", "uplaod"], "Unknown kind \"uplaod\"; did you mean \"upload\"? See: halyard definitions list"),
        (["--graph", "9"], "There is no graph 9; it may have been pruned. To see all graphs: halyard graph"),
    ])
    func aMistypedNameIsNoEmptyList(arguments: [String], message: String) async throws {
        let shop = try await Workshop()
        let run = try await shop.run(["list"] + arguments)
        #expect(run.code == .noInput)
        #expect(run.errors == "halyard: \(message)\n")
        #expect(run.output.isEmpty)
    }

    @Test func anErrorIsJSONForPrograms() async throws {
        let shop = try await Workshop()
        let missing = try await shop.run("show", "99", "--json")
        #expect(missing.code == .noInput)
        #expect(
            missing.errors
                == #"{"type":"urn:halyard:problem:not-found","title":"Not found","status":404,"detail":"There is no job 99; it may have been pruned. To see all jobs: halyard list"}"#
                + "\n")
        for (arguments, type) in [
            (["list", "--json", "--queue", "slwo"], "not-found"), (["watch", "--json"], "no-daemon"),
            (["list", "--json", "--limit", "0"], "invalid-request"), (["lsit", "--json"], "invalid-request"),
            (["enqueue", "unfrl", "x", "--json"], "not-found"), (["enqueue", "unfurl", "--json"], "invalid-input"),
        ] {
            let run = try await shop.run(arguments)
            #expect(run.output.isEmpty)
            let problem = try ControlProblem(json: JSONText(checking: Array(run.errors.utf8)))
            #expect(problem.code.rawValue == type, "\(arguments)")
        }
    }

    @Test func aRefusalNamesTheJobAsItWasWritten() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "upload", "/etc/hostname", "http://a/")
        let run = try await shop.run("enqueue", "unfurl", "--after", "1")
        #expect(run.code == .data)
        #expect(
            run.errors.contains("ob \"unfurl\" is missing the field \"url\"") && !run.errors.contains("#1"),
            "\(run.errors)")
    }

    @Test func namesAloneAreJSONToo() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("definitions", "list", "--names", "--json")
        #expect(run.output == "[\"unfurl\",\"upload\",\"save-link\"]\n")
    }

    @Test func aRetryThatCannotWorkIsNotForLater() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "unfurl", "http://b/", "--after", "1")
        try await shop.runReadyJobs { _ in .failed(Self.long) }
        let run = try await shop.run("retry", "2")
        #expect(run.code == .data)
        #expect(run.errors.contains("halyard retry --dependents 1"))
    }

    @Test func pruningSaysWhatItKeepsAndWhy() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=/srv/x")
        _ = try await shop.run("enqueue", "unfurl", "http://c/")
        _ = try await shop.run("enqueue", "unfurl", "http://d/", "--after", "3")
        try await shop.runReadyJobs { _ in .succeeded(JSONText(trusted: Array(#"{"url":"http://e/"}"#.utf8))) }
        try await shop.runReadyJobs { $0 == JobID(2) ? .failed(Self.long) : .retry(Self.long, after: .zero) }
        let run = try await shop.run(
            ["prune", "--older-than", "1s", "--outcome", "succeeded", "--yes"], now: Samples.now + .seconds(60))
        #expect(run.output == "0 jobs deleted\n")
        #expect(
            run.errors == """
                halyard: 1 job kept: the graph has another outcome and is deleted only as a whole. See: halyard graph
                halyard: 1 job kept: remaining jobs depend on them

                """)
    }

    // MARK: Files

    @Test func aFileThatADocumentNamesIsCopiedWhereThatIsAskedFor() async throws {
        let shop = try await Workshop()
        let photo = try shop.file("photo.jpg", "a picture")
        let input = try shop.file("input.json", "{\"file\": \"\(photo)\", \"url\": \"http://b/\"}")
        try await RunningDaemon.with(shop) { daemon in
            let refused = try await shop.run("enqueue", "upload", "--input", input)
            #expect(refused.code == .data)
            #expect(refused.errors.hasSuffix("\n  Add --copy to have it copied.\n"), "\(refused.errors)")
            let copied = try await shop.run("enqueue", "upload", "--input", input, "--copy")
            #expect(copied.code == .success, "\(copied.errors)")
            let job = try #require(try await daemon.store.jobs(JobFilter()).first)
            #expect(JSONObject(job.input ?? .emptyObject)?["file"]?.decodedString?.hasPrefix("spool:") == true)
            let none = try await shop.run("enqueue", "unfurl", "http://a/", "--copy")
            #expect(none.code == .usage)
            #expect(none.errors.contains("the input names none. Omit --copy"))
        }
    }
}
