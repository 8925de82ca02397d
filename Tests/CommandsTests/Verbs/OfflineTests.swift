import ControlProtocol
import Foundation
import Jobs
import Testing

@testable import Commands

/// The verbs access the database directly if no daemon runs.
@Suite struct OfflineTests {
    private static let written = "halyard: no daemon is running; wrote to DIRECTORY/halyard.db"

    @Test func enqueuePrintsTheNumberAndTellsWhereItWent() async throws {
        let shop = try await Workshop()
        let run = try await shop.run(
            "enqueue", "unfurl", "http://a/", "max_hops=3", "--priority", "high", "--in", "5m")
        #expect(run.code == .success)
        #expect(run.output == "1\n")
        #expect(run.errors == Self.written + "; it will run when halyardd starts\n")
        let job = try #require(try await shop.withStore { try await $0.job(JobID(1)) })
        #expect(job.input?.string == #"{"url":"http://a/","max_hops":3}"#)
        #expect(job.priority == .high)
        #expect(job.dueAt == Samples.now + .seconds(300))
    }

    @Test func jobsWhoseNumbersCannotBePrintedAreNamedInTheFailure() async throws {
        let shop = try await Workshop()
        let full = try FileHandle(forWritingTo: URL(filePath: "/dev/full"))
        // Nothing was written, so closing cannot lose anything.
        defer { try? full.close() }
        let errors = Capture()
        var surroundings = Surroundings.captured(output: Capture(), errors: errors)
        surroundings.output = Output(descriptor: full.fileDescriptor, variable: { _ in nil })
        let code = await HalyardCommandLine.run(
            [
                "enqueue", "save-link", "http://a/", "--set", "to=http://b/", "--socket", shop.socket, "--database",
                shop.database,
            ], in: surroundings)
        #expect(code == .inputOutput)
        #expect(errors.text.contains("Do not enqueue again: jobs 1, 2 are stored."))
        #expect(try await shop.withStore { try await $0.job(JobID(2)) } != nil)
    }

    @Test func aGraphIsEnqueuedWhole() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("enqueue", "save-link", "http://a/", "--set", "to=http://b/", "store.file=/srv/x")
        #expect(run.output == "1\n2\n")
        let tree = try await shop.run("graph", "1")
        #expect(tree.output.contains("└─ ◌ store 2  blocked"))
        #expect(tree.errors.isEmpty)
    }

    @Test func jobsWaitForOthersAndTellWhy() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "unfurl", "http://b/", "--after", "1:finished", "--at", "2026-07-26T00:00Z")
        let why = try await shop.run("why", "2")
        try Golden.expect(shop.masked(why.output), "verbs/why.txt")
        try Golden.expect(try await shop.run("why", "2", "--json").output, "verbs/why.json")
    }

    @Test func theSameKeyAddsNothing() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/", "--key", "k")
        let again = try await shop.run("enqueue", "unfurl", "http://a/", "--key", "k")
        #expect(again.output == "1\n")
        #expect(again.errors.contains("the key was used before; nothing new was enqueued"))
        let other = try await shop.run("enqueue", "unfurl", "http://other/", "--key", "k")
        #expect(other.code == .data)
        #expect(other.output.isEmpty)
    }

    @Test func anInputComesFromAFileOrStandardInput() async throws {
        let shop = try await Workshop()
        let file = try shop.file("input.json", #"{"max_hops": 7}"#)
        #expect(try await shop.run("enqueue", "unfurl", "http://a/", "--input", file).code == .success)
        #expect(
            try await shop.run("enqueue", "unfurl", "--input", "-", input: #"{"url":"http://b/"}"#).output == "2\n")
        let jobs = try await shop.withStore { try await $0.jobs(JobFilter(order: .oldestFirst)) }
        #expect(jobs.map(\.input?.string) == [#"{"max_hops":7,"url":"http://a/"}"#, #"{"url":"http://b/"}"#])
        #expect(try await shop.run("enqueue", "unfurl", "--input", "-", input: "[]").code == .data)
        #expect(try await shop.run("enqueue", "unfurl", "--input", "-", input: "{").code == .data)
        #expect(try await shop.run("enqueue", "unfurl", "--input", "/none").code == .noInput)
    }

    @Test func linesAreAnsweredOneByOne() async throws {
        let shop = try await Workshop()
        let lines = """
            {"definition":"unfurl","input":{"url":"http://a/"}}

            {"definition":"unfrl","input":{"url":"http://a/"}}
            not json
            {"definition":"unfurl","input":{"url":"http://b/"},"prioritty":"high"}
            {"definition":"unfurl","input":{"url":"http://c/"}}
            """
        let run = try await shop.run("enqueue", "--lines", "-", input: lines)
        #expect(run.code == .data)
        #expect(run.output == "1\n2\n")
        try Golden.expect(run.errors, "verbs/lines-errors.txt")
        let json = try await shop.run("enqueue", "--lines", "-", "--json", input: lines)
        #expect(json.code == .data)
        try Golden.expect(json.output, "verbs/lines.jsonl")
    }

    @Test func thousandsOfLinesAreThousandsOfJobs() async throws {
        let shop = try await Workshop()
        let lines = (1...5000).map { #"{"definition":"unfurl","input":{"url":"http://a/\#($0)"}}"# }
        let run = try await shop.run("enqueue", "--lines", "-", input: lines.joined(separator: "\n"))
        #expect(run.code == .success)
        #expect(run.output == (1...5000).map { "\($0)\n" }.joined())
    }

    @Test func aResultIsTheValueItself() async throws {
        let shop = try await Workshop()
        for _ in 1...3 { _ = try await shop.run("enqueue", "unfurl", "http://a/") }
        let open = try await shop.run("result", "1")
        #expect(open.code == .jobOpen)
        #expect(open.output.isEmpty)
        let json = try await shop.run("result", "1", "--json")
        #expect(json.code == .jobOpen)
        #expect(json.output.isEmpty)
        let problem = try ControlProblem(json: JSONText(checking: Array(json.errors.utf8)))
        #expect(problem.code == .conflict && problem.message.contains("no daemon runs"))
        try await shop.runReadyJobs { id in
            id == JobID(1)
                ? .succeeded(JSONText(trusted: Array(#"{"url":"http://final/"}"#.utf8)))
                : .failed(JobFailure(code: "http_status", message: "The server\u{1B}[2J said 503."))
        }
        let value = try await shop.run("result", "1")
        #expect(value.code == .success)
        #expect(value.output == #"{"url":"http://final/"}"# + "\n")
        let failure = try await shop.run("result", "2")
        #expect(failure.code == .jobFailed)
        #expect(failure.output.isEmpty)
        #expect(failure.errors == "halyard: job 2 failed: http_status: The server\\x1b[2J said 503.\n")
        #expect(try await shop.run("result", "2", "--json").code == .jobFailed)
        #expect(try await shop.run("result", "99").code == .noInput)
    }

    @Test func everyOutcomeHasItsCode() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "unfurl", "http://b/", "--after", "1")
        let cancelled = try await shop.run("cancel", "1", "7")
        #expect(cancelled.code == .noInput)
        #expect(cancelled.output == "1  ⊘ cancelled\n")
        #expect(try await shop.run("wait", "1").code == .jobCancelled)
        #expect(try await shop.run("wait", "2").code == .jobSkipped)
        #expect(try await shop.run("result", "2").code == .jobSkipped)
        let both = try await shop.run("wait", "1", "2")
        #expect(both.code == .jobCancelled)
        #expect(both.output == "1  unfurl  ⊘ cancelled\n2  unfurl  ↷ skipped\n")
    }

    @Test func aRetryIsANewJob() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "x", message: "No.")) }
        let retry = try await shop.run("retry", "1")
        #expect(retry.code == .success)
        #expect(retry.output == "2\n")
        #expect(try await shop.withStore { try await $0.job(JobID(2))?.repeats } == JobID(1))
        #expect(try await shop.run("retry", "2").code == .temporary)
    }

    @Test func jobsAreShownInEveryForm() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=/srv/x", "--key", "one")
        try await shop.runReadyJobs { _ in
            .failed(JobFailure(code: "too_many_hops", message: "More than 5 redirects. Raise max_hops."))
        }
        _ = try await shop.run("enqueue", "unfurl", "http://c/", "--queue", "slow")
        for verb in [["list"], ["show", "1"], ["show", "2"], ["graph", "1"], ["graph"], ["queues"], ["definitions"]] {
            let name = verb.joined(separator: "-")
            let text = try await shop.run(verb)
            try Golden.expect(text.output, "verbs/\(name).txt")
            let json = try await shop.run(verb + ["--json"])
            try Golden.expect(json.output, "verbs/\(name).json")
            #expect(text.code == .success && json.code == .success)
        }
        #expect(try await shop.run("list", "--state", "ready", "--queue", "slow").output.contains("unfurl"))
        let none = try await shop.run("list", "--open", "--definition", "unfurl", "--queue", "default")
        #expect(none.output.split(separator: "\n").count == 1)
        #expect(try await shop.run("show", "99").code == .noInput)
        #expect(try await shop.run("graph", "99").code == .noInput)
        for options in [[], ["--json"]] {
            let shown = try await shop.run(["show", "graph:1"] + options)
            #expect(shown.output == (try await shop.run(["graph", "1"] + options)).output)
            #expect(shown.code == .success && !shown.output.isEmpty)
        }
    }

    @Test func nothingDangerousReachesATerminal() async throws {
        let shop = try await Workshop()
        let evil = "http://a/\u{1B}]0;owned\u{07}\u{9B}2J\u{202E}"
        _ = try await shop.run("enqueue", "unfurl", evil)
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "x", message: evil)) }
        for verb in [["show", "1"], ["list"], ["result", "1"], ["show", "1", "--json"], ["result", "1", "--json"]] {
            let run = try await shop.run(verb, terminal: (200, 50))
            let seen = (run.output + run.errors).unicodeScalars.filter { $0 != "\n" }
            #expect(seen.allSatisfy(TerminalText.isHarmless), "\(verb)")
            #expect(!seen.isEmpty)
        }
    }

    @Test func pruningAsksFirst() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "x", message: "No.")) }
        let asked = try await shop.run("prune", "--older-than", "0s")
        #expect(asked.code == .usage)
        #expect(asked.errors.contains("Add --yes"))
        #expect(try await shop.run("prune", "--older-than", "30d", "--yes").output == "0 jobs deleted\n")
        let run = try await shop.run(
            ["prune", "--older-than", "1s", "--yes", "--json"], now: Samples.now + .seconds(10))
        #expect(run.code == .success)
        #expect(run.output == "{\"deleted\":1,\"kept_by_graph\":0,\"kept_by_dependents\":0}\n")
    }

    @Test(arguments: [
        ["watch"], ["reload"], ["workers"], ["wait", "1"],
        ["enqueue", "upload", "/etc/hostname", "http://b/", "--copy"],
    ])
    func whatNeedsADaemonSaysSo(arguments: [String]) async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let run = try await shop.run(arguments)
        #expect(run.code == .unavailable)
        // `systemctl` does not know a daemon for a private database, so the message does not mention it.
        #expect(
            run.errors.contains("needs the daemon") && run.errors.contains("its database is DIRECTORY/halyard.db"))
    }

    /// A user who names a socket expects its daemon and would mistake the jobs of another database for that daemon's
    /// jobs.
    @Test(arguments: [["list"], ["status"], ["show", "1"], ["enqueue", "unfurl", "http://a/"]])
    func aSocketThatIsNamedAloneIsNotReplacedByADatabase(arguments: [String]) async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let (output, errors) = (Capture(), Capture())
        let wrong = shop.directory.path + "/wrong.sock"
        let code = await HalyardCommandLine.run(
            arguments + ["--socket", wrong],
            in: .captured(output: output, errors: errors, variables: ["HALYARD_DATABASE": shop.database]))
        #expect(code == .unavailable)
        #expect(output.text.isEmpty)
        #expect(errors.text.contains(wrong), "\(errors.text)")
        #expect(try await shop.withStore { try await $0.counts().total } == 1)
    }

    @Test func callersWithoutADaemonWaitForEachOther() async throws {
        let shop = try await Workshop()
        let runs = try await withThrowingTaskGroup(of: Workshop.Run.self) { group in
            for _ in 1...20 {
                group.addTask { try await shop.run(["enqueue", "unfurl", "http://a/"], lockPatience: .seconds(30)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(runs.allSatisfy { $0.code == .success })
        #expect(Set(runs.map(\.output)) == Set((1...20).map { "\($0)\n" }))
    }

    @Test func aFileIsSaidToBeReadLater() async throws {
        let shop = try await Workshop()
        let photo = try shop.file("photo.jpg", "x")
        let run = try await shop.run("enqueue", "upload", photo, "http://b/")
        #expect(run.code == .success)
        #expect(
            run.errors.contains("the daemon will read DIRECTORY/photo.jpg itself; the file must be inside its roots"))
    }

    @Test func aFileThatIsNotThereIsRefusedUnlessItMayCome() async throws {
        let shop = try await Workshop()
        let path = shop.directory.appending(path: "gone.jpg").path
        let run = try await shop.run("enqueue", "upload", path, "http://b/")
        #expect(run.code == .noInput)
        #expect(run.errors == "halyard: There is no file DIRECTORY/gone.jpg. Check the name.\n")
        #expect(try await shop.run("enqueue", "upload", path, "http://b/", "--in", "1h").code == .success)
        #expect(try await shop.run("enqueue", "upload", path, "http://b/", "--after", "1").code == .success)
        #expect(try await shop.run("list", "--json").output.split(separator: "\n").count == 1)
    }

    @Test func nothingToCancelIsSaid() async throws {
        let shop = try await Workshop()
        #expect(
            try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=spool:x").code == .success)
        #expect(try await shop.run("cancel", "graph:1").output == "1  ⊘ cancelled\n2  ⊘ cancelled\n")
        let again = try await shop.run("cancel", "graph:1")
        #expect(again.code == .success)
        #expect(again.output == "graph:1  nothing to cancel: every job is final\n")
    }

    @Test func jobsAreCancelledTogether() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=spool:x")
        _ = try await shop.run("enqueue", "unfurl", "http://a/", "--after", "1:succeeded")
        let run = try await shop.run("cancel", "1", "3", "graph:1", "2")
        #expect(run.code == .success)
        #expect(
            run.output
                == "1  ⊘ cancelled\n3  ⊘ cancelled\ngraph:1  nothing to cancel: every job is final\n2  ⊘ cancelled\n")
    }

    @Test func everyArgumentToCancelIsAnswered() async throws {
        let shop = try await Workshop()
        for _ in 1...2 {
            _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=spool:x")
        }
        _ = try await shop.run("cancel", "graph:1")
        let run = try await shop.run("cancel", "1", "graph:9", "graph:1", "99", "graph:8", "graph:2")
        #expect(run.code == .noInput)
        #expect(
            run.output == """
                1  was already ⊘ cancelled
                graph:1  nothing to cancel: every job is final
                3  ⊘ cancelled
                4  ⊘ cancelled

                """)
        #expect(run.errors.contains("halyard: There is no graph 9;") && run.errors.contains("\n  There is no graph 8;"))
        let json = try await shop.run("cancel", "graph:9", "3", "--json")
        #expect(json.code == .noInput)
        #expect(json.output.hasPrefix("[{\"job\":3,"), "\(json.output)")
        #expect(json.errors.contains("There is no graph 9"))
    }

    @Test func theStatusTellsThatNoDaemonRuns() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("status")
        #expect(run.code == .success)
        #expect(run.output.hasPrefix("halyardd  stopped\n"))
        #expect(try await shop.run("status", "--json").output.contains(#""state":"stopped""#))
    }
}
