import ControlProtocol
import Foundation
import Jobs
import Testing

@testable import Commands

/// Mistakes of first-time users.
@Suite struct MistakeTests {
    // MARK: Where no daemon listens

    @Test func whoWaitsWithoutADaemonLearnsThatTheJobIsKept() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("enqueue", "unfurl", "http://a/", "--wait")
        #expect(run.code == .unavailable)
        #expect(run.output == "1\n")
        #expect(
            run.errors.hasSuffix(
                "halyard: Waiting for an open job needs the daemon, and none runs for DIRECTORY/halyard.db. The enqueued jobs stay stored and run when a daemon starts. Start halyardd with the same --config as before; its database is DIRECTORY/halyard.db\n"
            ), "\(run.errors)")
    }

    @Test(.enabled(if: access(StandardPaths.socket, F_OK) != 0))
    func twoReasonsAreTwoSentences() async throws {
        let errors = Capture()
        let code = await HalyardCommandLine.run(
            ["list", "--socket", StandardPaths.socket, "--database", "/nonexistent/halyard.db"],
            in: .captured(output: Capture(), errors: errors))
        #expect(code == .unavailable)
        #expect(errors.text.contains("See: systemctl status halyard. There is no database at"), "\(errors.text)")
    }

    // MARK: What does not exist

    @Test func anUnknownJobIsAMessage() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let unknown = "There is no job 999; it may have been pruned. To see all jobs: halyard list"
        let one = try await shop.run("cancel", "999")
        #expect(one.code == .noInput)
        #expect(one.output.isEmpty)
        #expect(one.errors == "halyard: \(unknown)\n")
        let several = try await shop.run("cancel", "999", "1", "998", "graph:7")
        #expect(several.code == .noInput)
        #expect(several.output == "1  ⊘ cancelled\n")
        #expect(several.errors.contains("halyard: \(unknown)\n  There is no job 998;"), "\(several.errors)")
        #expect(several.errors.contains("\n  There is no graph 7;"))
        let json = try await shop.run("cancel", "999", "--json")
        #expect(json.code == .noInput)
        #expect(json.output == "[{\"job\":999,\"result\":\"unknown\"}]\n")
        #expect(try ControlProblem(json: JSONText(checking: Array(json.errors.utf8))).code == .notFound)
    }

    @Test func aSkippedJobNamesTheOneThatBeganIt() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        _ = try await shop.run("enqueue", "unfurl", "http://b/", "--after", "1")
        _ = try await shop.run("enqueue", "unfurl", "http://c/", "--after", "2")
        try await shop.runReadyJobs { _ in .failed(JobFailure(code: "http_status", message: "It answered 503.")) }
        // A job that is enqueued later is skipped immediately.
        _ = try await shop.run("enqueue", "unfurl", "http://d/", "--after", "3")
        for (job, dependency) in [(3, 2), (4, 3)] {
            let run = try await shop.run("wait", "\(job)")
            #expect(run.code == .jobSkipped)
            #expect(
                run.errors.hasPrefix(
                    "halyard: job \(job) skipped: dependency_skipped: Its dependency, job \(dependency) (unfurl), was skipped, because job 1 (unfurl) failed. See why with \"halyard show 1\"; retry the jobs with \"halyard retry --dependents 1\"."
                ), "\(run.errors)")
        }
    }

    // MARK: Databases of other programs

    @Test(arguments: ["", String(repeating: "no database, but longer than the header of one ", count: 4)])
    func anotherProgramsFileGetsNoNeighbours(content: String) async throws {
        let shop = try await Workshop()
        try FileManager.default.createDirectory(
            at: shop.directory.appending(path: "other"), withIntermediateDirectories: true)
        let path = try shop.file("other/app.db", content)
        let run = try await shop.run(["enqueue", "unfurl", "http://a/"], database: path)
        #expect(run.code == .inputOutput)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: shop.directory.appending(path: "other").path)
                == ["app.db"])
    }

    // MARK: Inputs

    @Test func anArgumentThatLooksLikeAFieldMayBeAFile() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("enqueue", "upload", "a=b.txt", "https://h/")
        #expect(run.code == .data)
        #expect(
            run.errors.hasSuffix("\n  If a=b.txt is a file, write ./a=b.txt\n"), "\(run.errors)")
        // After `--set`, the text can only be a field.
        let set = try await shop.run("enqueue", "upload", "--set", "a=b.txt")
        #expect(set.code == .data)
        #expect(!set.errors.contains("./a=b.txt"))
    }

    @Test func whoGivesNoFieldLearnsHowTheVerbIsWritten() async throws {
        let shop = try await Workshop()
        let run = try await shop.run("enqueue", "upload")
        #expect(run.code == .data)
        #expect(
            run.errors.hasSuffix("  Write: halyard enqueue upload FILE URL. See: halyard definitions show upload\n"),
            "\(run.errors)")
    }

    @Test func whatAGraphNeedsIsWritten() async throws {
        let shop = try await Workshop()
        _ = try await shop.run(
            "definitions", "apply", "-",
            input:
                "graphs:\n  pair: {nodes: {m: {definition: upload}, n: {definition: unfurl, input: {url: 'http://a/'}}}}\n"
        )
        let run = try await shop.run("enqueue", "pair")
        #expect(run.code == .data)
        #expect(
            run.errors.hasSuffix(
                "\n  Write: halyard enqueue pair m.url=VALUE. See: halyard definitions show pair\n"), "\(run.errors)")
        let show = try await shop.run("definitions", "show", "pair")
        #expect(
            show.output.contains("fields that nodes need, as node.field=VALUE\n  m.url  string  Where to.\n"),
            "\(show.output)")
        #expect(try await shop.run("enqueue", "pair", "m.url=http://b/").code == .success)
        #expect(!(try await shop.run("definitions", "show", "save-link").output.contains("nodes need")))
    }

    @Test func anUnknownDefinitionNamesTheList() async throws {
        let run = try await Workshop().run("enqueue", "nosuch")
        #expect(run.code == .noInput)
        #expect(run.errors.hasSuffix("\n  See: halyard definitions\n"), "\(run.errors)")
    }

    @Test func aFolderIsNotOneFile() async throws {
        let shop = try await Workshop()
        try FileManager.default.createDirectory(
            at: shop.directory.appending(path: "folder"), withIntermediateDirectories: true)
        let folder = shop.directory.appending(path: "folder").path
        try await RunningDaemon.with(shop) { _ in
            let run = try await shop.run("enqueue", "upload", folder, "https://h/")
            #expect(run.code == .data)
            #expect(
                run.errors
                    == "halyard: DIRECTORY/folder is a folder; name a file. To send the files of a folder: halyard upload DIRECTORY/folder --to URL\n"
            )
        }
        let lines = try await shop.run("enqueue", "--lines", folder)
        #expect(lines.code == .data)
        #expect(lines.errors == "halyard: DIRECTORY/folder is a folder; name a file.\n")
    }
}
