import ControlProtocol
import Foundation
import Jobs
import OperationTypes
import Testing

@testable import Commands

/// The verbs over a real socket.
@Suite struct OnlineTests {
    private static let value = JSONText(trusted: Array(#"{"url":"http://final/"}"#.utf8))

    @Test func theDaemonIsUsedWhereOneListens() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run("enqueue", "unfurl", "http://a/")
            #expect(run.output == "1\n")
            #expect(run.errors.isEmpty)
            #expect(try await daemon.store.job(JobID(1))?.state == .ready)
            #expect(try await shop.run("status").output.hasPrefix("halyardd  running  pid 42\n"))
        }
    }

    @Test func waitingTellsTheOutcome() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            for _ in 1...2 { _ = try await shop.run("enqueue", "unfurl", "http://a/") }
            let claimed = try await daemon.claim()
            async let waiting = shop.run("wait", "1", "2")
            await daemon.waitForWatcher()
            try await daemon.finish(claimed[0], .succeeded(Self.value))
            try await daemon.finish(claimed[1], .failed(JobFailure(code: "x", message: "No.")))
            let run = try await waiting
            #expect(run.code == .jobFailed)
            #expect(run.output == "1  unfurl  ✓ succeeded\n2  unfurl  ✗ failed\n")
        }
    }

    @Test func enqueueCanWait() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            async let waiting = shop.run(
                "enqueue", "save-link", "http://a/", "http://b/", "store.file=spool:x", "--wait")
            await daemon.waitForWatcher()
            for job in try await daemon.claim() { try await daemon.finish(job, .succeeded(Self.value)) }
            for job in try await daemon.claim() { try await daemon.finish(job, .succeeded(Self.value)) }
            let run = try await waiting
            #expect(run.code == .success)
            #expect(run.output == "1\n2\n1  resolve  ✓ succeeded\n2  store  ✓ succeeded\n")
        }
    }

    /// Cancelling the first job starts neither of the other jobs, although the daemon has free slots.
    @Test func jobsAreCancelledTogether() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { _ in
            _ = try await shop.run("enqueue", "save-link", "http://a/", "http://b/", "store.file=spool:x")
            _ = try await shop.run("enqueue", "unfurl", "http://a/", "--after", "1:succeeded")
            let run = try await shop.run("cancel", "1", "7", "3", "2")
            #expect(run.code == .noInput)
            #expect(run.output == "1  ⊘ cancelled\n3  ⊘ cancelled\n2  ⊘ cancelled\n")
        }
    }

    @Test func theTimeRunsOut() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { _ in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            let run = try await shop.run("wait", "1", "--timeout", "1ms")
            #expect(run.code == .jobOpen)
            #expect(
                run.errors == "halyard: --timeout passed before every job was final. See: halyard why 1\n")
        }
    }

    @Test func noTimeIsEnoughToSeeWhatIsFinal() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { _ in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            _ = try await shop.run("cancel", "1")
            let run = try await shop.run("wait", "1", "--timeout", "0s")
            #expect(run.code == ExitCode(states: [JobState.cancelled]))
            #expect(run.output == "1  unfurl  ⊘ cancelled\n")
        }
    }

    @Test func watchingShowsProgress() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            let job = try await daemon.claim()[0]
            let output = Capture()
            async let lines = shop.run(["watch", "1"], output: output)
            await output.waitFor("▶ running")
            daemon.report(JobID(1), OperationProgress(completed: 1 << 20, total: 4 << 20, unit: "bytes"))
            await output.waitFor("25 %  1.0 of 4.0 MiB")
            try await daemon.finish(job, .succeeded(Self.value))
            let run = try await lines
            #expect(run.code == .success)
            #expect(run.output.hasPrefix("2026-07-25T10:00:00.000Z  job 1  unfurl  ▶ running"))
            #expect(run.output.contains("✓ succeeded"))
        }
    }

    @Test func watchingOnATerminalEndsWithTheOutcome() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            let job = try await daemon.claim()[0]
            async let live = shop.run(["watch", "1"], terminal: (80, 24))
            await daemon.waitForWatcher()
            try await daemon.finish(job, .failed(JobFailure(code: "x", message: "No.")))
            let run = try await live
            #expect(run.code == .jobFailed)
            #expect(run.output.split(separator: "job 1  unfurl  ✗ failed  in 2s, took 2.0s\n").count <= 2)
            #expect(run.output.contains("job 1  unfurl  ✗ failed  in 2s, took 2.0s\n"))
            // The live block may have been redrawn any number of times.
            #expect(run.output.hasSuffix("1 failed\n"))
        }
    }

    @Test func watchingAsJSONIsALineForEachEvent() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            let job = try await daemon.claim()[0]
            try await daemon.finish(job, .succeeded(Self.value))
            let run = try await shop.run("watch", "1", "--json")
            #expect(run.code == .success)
            try Golden.expect(run.output, "verbs/watch.jsonl")
        }
    }

    @Test func aFileOutsideTheRootsIsCopied() async throws {
        let shop = try await Workshop()
        let photo = try shop.file("photo.jpg", String(repeating: "x", count: 300_000))
        try FileManager.default.createDirectory(
            at: shop.directory.appending(path: "roots"), withIntermediateDirectories: true)
        let inside = try shop.file("roots/inside.txt", "inside")
        try await RunningDaemon.with(shop) { daemon in
            #expect(try await shop.run("enqueue", "upload", photo, "http://b/").code == .success)
            #expect(try await shop.run("enqueue", "upload", inside, "http://b/").code == .success)
            #expect(try await shop.run("enqueue", "upload", inside, "http://b/", "--copy").code == .success)
            let files = try await daemon.store.jobs(JobFilter(order: .oldestFirst))
                .map { JSONObject($0.input ?? .emptyObject)?["file"]?.decodedString ?? "" }
            #expect(files[0].hasPrefix("spool:"))
            #expect(files[1] == inside)
            #expect(files[2].hasPrefix("spool:"))
            let spooled = shop.directory.appending(path: "spool").appending(
                path: String(files[0].dropFirst(6).prefix { $0 != "/" }))
            #expect(files[0].hasSuffix("/photo.jpg"))
            #expect(try Data(contentsOf: spooled).count == 300_000)
            let missing = try await shop.run("enqueue", "upload", "photo.jpg", "http://b/")
            #expect(missing.code == .noInput)
            // The file may be visible only to the daemon.
            let unseen = inside + ".later"
            let accepted = try await shop.run("enqueue", "upload", unseen, "http://b/")
            #expect(accepted.code == .success)
            #expect(
                accepted.errors.contains(
                    "DIRECTORY/roots/inside.txt.later does not exist here; the daemon will look for it"))
            #expect(try await shop.run("enqueue", "upload", photo + ".none", "http://b/").code == .noInput)
            let tooLarge = try shop.file("large", String(repeating: "x", count: 2 << 20))
            #expect(try await shop.run("enqueue", "upload", tooLarge, "http://b/").code == .data)
        }
    }

    /// A device has no end, and opening a pipe waits for a writer.
    @Test(.timeLimit(.minutes(5))) func aPathThatIsNotAFileIsRefusedAtOnce() async throws {
        let shop = try await Workshop()
        let pipe = shop.directory.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        try await RunningDaemon.with(shop) { daemon in
            for path in ["/dev/zero", "/dev/null", pipe] {
                let run = try await shop.run("enqueue", "upload", path, "http://b/")
                #expect(run.code == .noInput)
                #expect(run.errors.contains("is not a regular file. Name a file"))
            }
            #expect(try await daemon.store.jobs(JobFilter()).isEmpty)
        }
    }

    @Test func standardInputIsAFileToo() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            let run = try await shop.run("enqueue", "upload", "-", "http://b/", input: "what came in")
            #expect(run.code == .success, "\(run.errors)")
            let job = try #require(try await daemon.store.jobs(JobFilter()).first)
            let file = JSONObject(job.input ?? .emptyObject)?["file"]?.decodedString ?? ""
            #expect(file.hasPrefix("spool:") && !file.contains("/"))
            let spooled = shop.directory.appending(path: "spool").appending(path: String(file.dropFirst(6)))
            #expect(try String(contentsOf: spooled, encoding: .utf8) == "what came in")
            let both = try await shop.run("enqueue", "upload", "-", "http://b/", "--input", "-", input: "{}")
            #expect(both.code == .usage)
        }
    }

    /// P1: a repeated request with a key copies the file into the spool again and still gets the first receipt.
    @Test func p1AFileOfTheUserIsSentOnceForItsKey() async throws {
        let shop = try await Workshop()
        let photo = try shop.file("photo.jpg", "x")
        try await RunningDaemon.with(shop) { daemon in
            for _ in 1...2 {
                let run = try await shop.run("enqueue", "upload", photo, "http://b/", "--key", "photo")
                #expect(run.code == .success, "\(run.errors)")
                #expect(run.output == "1\n")
            }
            _ = try shop.file("photo.jpg", "y")
            let other = try await shop.run("enqueue", "upload", photo, "http://b/", "--key", "photo")
            #expect(other.code == .data)
            #expect(other.errors.contains("was used for another request"))
            #expect(try await daemon.store.jobs(JobFilter()).count == 1)
        }
    }

    @Test func workersAreListedWithTheirProblems() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { _ in
            let run = try await shop.run("workers")
            #expect(run.code == .success)
            try Golden.expect(run.output, "verbs/workers.txt")
            try Golden.expect(try await shop.run("workers", "list", "--json").output, "verbs/workers.json")
        }
    }

    @Test func reloadingTellsWhyItWasRefused() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            #expect(try await shop.run("reload").code == .success)
            #expect(try await shop.run("reload", "--json").output == "{\"reloaded\":true}\n")
            let fault = "halyard.yaml:8: workers.photos exited with status 1; its jobs wait"
            daemon.reloads.answer(ReloadReport(problems: [fault]))
            #expect(
                try await shop.run("reload").errors == "halyard: the daemon has reloaded\nhalyard: \(fault)\n")
            #expect(
                try await shop.run("reload", "--json").output == #"{"reloaded":true,"problems":["\#(fault)"]}"# + "\n")
            daemon.reloads.refuse(
                ControlProblem(
                    .invalidDefinitions, "The definitions are refused; the old ones stay.", details: ["unknown kind x"])
            )
            let run = try await shop.run("reload")
            #expect(run.code == .configuration)
            #expect(
                run.errors == "halyard: The definitions are refused; the old ones stay.\n  unknown kind x\n")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aReloadNamesTheWorkerThatItWaitsFor() async throws {
        let shop = try await Workshop()
        let slow = WorkerRecord(
            name: "slow", processLimit: 1, attemptLimit: 1, checkedUntil: Samples.now + .seconds(20))
        let wait = "halyard: waiting up to 20s for worker slow to introduce itself\n"
        try await RunningDaemon.with(shop) { daemon in
            let hasAnswered = Latch<Void>()
            daemon.reloads.wait(for: slow, until: hasAnswered)
            let errors = Capture()
            async let run = shop.run(["reload"], errors: errors)
            await errors.waitFor(wait)
            hasAnswered.open()
            let ended = try await run
            #expect(ended.code == .success)
            #expect(errors.text == wait + "halyard: the daemon has reloaded\n")
        }
    }

    @Test func linesGoThroughTheSocket() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { _ in
            let lines = (1...2500).map {
                $0 % 1000 == 0 ? "{" : #"{"definition":"unfurl","input":{"url":"http://a/\#($0)"}}"#
            }
            let run = try await shop.run("enqueue", "--lines", "-", input: lines.joined(separator: "\n"))
            #expect(run.code == .data)
            #expect(run.output == (1...2498).map { "\($0)\n" }.joined())
            #expect(run.errors.contains("line 1000: ") && run.errors.contains("line 2000: "))
        }
    }

    /// The message names the first line without a response, from which the user must send again.
    @Test func linesThatNobodyAnswersAreNamed() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            await TestDatabase.close(daemon.store)
            let good = #"{"definition":"unfurl","input":{"url":"http://a/"}}"#
            let run = try await shop.run(
                "enqueue", "--lines", "-", input: ["{", "", good, good, "}"].joined(separator: "\n"))
            #expect(run.code == .temporary)
            #expect(run.output.isEmpty)
            #expect(run.errors.contains("halyard: line 1: "))
            #expect(run.errors.contains("halyard: line 3 and the following lines: "), "\(run.errors)")
            #expect(
                run.errors.hasSuffix(
                    "\n  Before line 3: 0 lines enqueued, 1 refused. Then send the lines from 3 on again: nothing is enqueued twice.\n"
                ),
                "\(run.errors)")
        }
    }

    /// The server accepts such a line only in a request of its own.
    @Test func aGraphLongerThanALineGoesAlone() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            let jobs = (1...12_000).map {
                #"{"node":"n\#($0)","definition":"unfurl","input":{"url":"http://a.example.org/a/path/that/is/long/\#($0)"}}"#
            }
            let graph = #"{"name":"wide","jobs":["# + jobs.joined(separator: ",") + "]}"
            #expect(graph.utf8.count > JSONText.maxBytes)
            let small = #"{"definition":"unfurl","input":{"url":"http://a/"}}"#
            let run = try await shop.run(
                "enqueue", "--lines", "-", input: [small, graph, small].joined(separator: "\n"))
            #expect(run.code == .success, "\(run.errors)")
            let lines = run.output.split(separator: "\n")
            #expect(lines.first == "1" && lines.last == "12002")
            #expect(try await daemon.store.graph(GraphID(1))?.counts[.ready] == 12_000)
        }
    }
}
