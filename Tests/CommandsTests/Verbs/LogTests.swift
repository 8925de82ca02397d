import Foundation
import Glibc
import JobFiles
import Jobs
import SQLiteStore
import Synchronization
import Testing

@testable import Commands

/// The verbs for logs and files. The tests write both as a kind would.
@Suite struct LogTests {
    private static let failed = AttemptEnd.Ending.failed(JobFailure(code: "exit_1", message: "It failed."))

    /// Enqueues and runs a job that writes `log`.
    private func run(
        _ shop: Workshop, _ log: [UInt8], ending: AttemptEnd.Ending = .succeeded(.emptyObject), limit: Int = 1 << 20,
        keeping content: String? = nil
    ) async throws {
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let files = JobFiles(nextTo: shop.database) { Samples.now }
        try await shop.runReadyJobs { job in
            let lease = Lease(job: job, attempt: 1)
            do {
                let written = try files.beginLog(of: lease, limit: limit)
                written.append(log)
                written.finish()
                if let content {
                    let source = try shop.file("source", content)
                    _ = try files.keep(source, of: lease, name: "größe.txt")
                }
            } catch {
                Issue.record(error)
            }
            return ending
        }
    }

    private static let odd: [UInt8] =
        Array("plain\n\u{1B}[2Jred\ttab\r\n".utf8) + [0xFF, 0x0A] + Array("prompt> ".utf8)

    @Test func aLogIsPrintedWithoutADaemon() async throws {
        let shop = try await Workshop()
        try await run(shop, Self.odd)
        let terminal = Capture()
        let shown = try await shop.run(["log", "1"], terminal: (80, 24), output: terminal)
        #expect(shown.code == .success)
        #expect(shown.output == "plain\n\\x1b[2Jred      tab\n\u{FFFD}\nprompt> \n")
        // The job is final, so there is nothing to wait for.
        let followed = try await shop.run(["log", "1", "-f"], terminal: (80, 24), output: Capture())
        #expect(followed.code == .success)
        #expect(followed.output == shown.output)
        let times = try await shop.run("log", "1", "--timestamps")
        #expect(times.output.hasPrefix("\(Samples.now.iso8601) plain\n\(Samples.now.iso8601) "))
        try Golden.expect(try await shop.run("log", "1", "--json").output, "verbs/log.json")
        #expect(try await shop.run("log", "1", "--attempt", "1").code == .success)
    }

    @Test func aPipeGetsTheBytes() async throws {
        let shop = try await Workshop()
        try await run(shop, Self.odd)
        let path = try shop.file("out", "")
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        var surroundings = Surroundings.captured(output: Capture(), errors: Capture())
        surroundings.output = Output(descriptor: handle.fileDescriptor, variable: { _ in nil })
        let code = await HalyardCommandLine.run(
            ["log", "1", "--socket", shop.socket, "--database", shop.database], in: surroundings)
        try handle.close()
        #expect(code == .success)
        #expect(Array(try Data(contentsOf: URL(filePath: path))) == Self.odd)
    }

    @Test func aGapIsReported() async throws {
        let shop = try await Workshop()
        let lines = (0..<2000).map { "line \($0)\n" }.joined()
        try await run(shop, Array(lines.utf8), limit: 4096)
        let run = try await shop.run("log", "1")
        #expect(run.output.hasPrefix("line 0\nline 1\n"))
        #expect(run.output.hasSuffix("line 1999\n"))
        #expect(run.output.firstMatch(of: /\n… 1\d\.\d KiB \(1,\d\d\d lines\) left out …\n/) != nil)
        #expect(run.errors.isEmpty)
    }

    @Test func missingLogsAndFilesHaveTheirExitCode() async throws {
        let shop = try await Workshop()
        _ = try await shop.run("enqueue", "unfurl", "http://a/")
        let unstarted = try await shop.run("log", "1")
        #expect(unstarted.code == .noInput)
        #expect(unstarted.errors.contains("has not started"))
        #expect(try await shop.run("log", "1", "--follow").code == .unavailable)
        #expect(try await shop.run("result", "1", "--file", "-").code == .jobOpen)
        try await shop.runReadyJobs { _ in .succeeded(.emptyObject) }
        let none = try await shop.run("log", "1")
        #expect(none.code == .noInput)
        #expect(
            none.errors
                == "halyard: Job 1 has no log: its kind, unfurl, has written none. To see its attempts: halyard show 1\n"
        )
        let noFile = try await shop.run("result", "1", "--file", "-")
        #expect(noFile.code == .noInput)
        #expect(noFile.errors == "halyard: The result of job 1 is not a file. To print it: halyard result 1\n")
        #expect(try await shop.run("log", "99").code == .noInput)
        #expect(try await shop.run("log", "1", "--follow").code == .noInput)
        #expect(try await shop.run("log", "1", "--attempt", "0").code == .usage)
        #expect(try await shop.run("result", "1", "--force").code == .usage)
    }

    @Test func aFailedJobShowsTheEndOfItsLog() async throws {
        let shop = try await Workshop()
        try await run(shop, Array((0..<30).map { "line \($0)\t\u{1B}[2J\n" }.joined().utf8), ending: Self.failed)
        try Golden.expect(try await shop.run("show", "1").output, "verbs/show-log.txt")
        try Golden.expect(try await shop.run("show", "1", "--json").output, "verbs/show-log.json")
    }

    @Test func aLogIsFollowed() async throws {
        let shop = try await Workshop()
        try await RunningDaemon.with(shop) { daemon in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            let output = Capture()
            async let following = shop.run(["log", "1", "--follow"], output: output)
            let job = try await daemon.claim()[0]
            let log = try daemon.files.beginLog(of: job.lease)
            log.append(Array("one\n".utf8))
            await output.waitFor("one\n")
            log.append(Array("two\n".utf8))
            await output.waitFor("two\n")
            log.finish()
            try await daemon.finish(job, Self.failed)
            let run = try await following
            #expect(run.code == .success)
            #expect(run.output == "one\ntwo\n")
            #expect(run.errors.isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(5))) func aLogIsFollowedAcrossARestart() async throws {
        let shop = try await Workshop()
        let output = Capture()
        let following = Mutex<Task<Workshop.Run, any Error>?>(nil)
        try await RunningDaemon.with(shop) { daemon in
            _ = try await shop.run("enqueue", "unfurl", "http://a/")
            following.withLock { $0 = Task { try await shop.run(["log", "1", "--follow"], output: output) } }
            let log = try daemon.files.beginLog(of: try await daemon.claim()[0].lease)
            log.append(Array("one\n".utf8))
            await output.waitFor("one\n")
        }
        let again = Mutex<[ClaimedJob]>([])
        try await RunningDaemon.with(shop) { store in
            _ = try await store.rescueOrphans(maxRescues: 3, now: Samples.now)
            let claimed = try await store.exchange([], claim: ClaimRequest(slots: 1), now: Samples.now).claimed
            again.withLock { $0 = claimed }
        } _: { daemon in
            let again = again.withLock(\.self)
            let log = try daemon.files.beginLog(of: again[0].lease)
            log.append(Array("two\n".utf8))
            await output.waitFor("two\n")
            log.finish()
            try await daemon.finish(again[0], Self.failed)
            let run = try #require(await following.withLock(\.self)?.value)
            #expect(run.code == .success)
            #expect(run.output == "one\ntwo\n")
            let notes = run.errors.split(separator: "\n").map { $0.prefix(40) }
            #expect(
                notes
                    == [
                        "halyard: the daemon stopped; waiting up t", "halyard: the daemon is running again",
                        "halyard: attempt 2:",
                    ].map { $0.prefix(40) })
        }
    }

    // MARK: Files

    private func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    @Test(arguments: [true, false]) func aFileIsWrittenWhole(withDaemon: Bool) async throws {
        let shop = try await Workshop()
        try await run(shop, [], keeping: "the content")
        let folder = shop.directory.appending(path: "out").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let path = folder + "/file"
        let check: @Sendable () async throws -> Void = {
            let first = try await shop.run("result", "1", "--file", path)
            #expect(first.code == .success)
            #expect(first.output.isEmpty && first.errors.isEmpty)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "the content")
            try "mine".write(toFile: path, atomically: false, encoding: .utf8)
            let again = try await shop.run("result", "1", "--file", path)
            #expect(again.code == .data)
            #expect(again.errors.hasSuffix("/out/file exists. Name another file, or replace it with --force.\n"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
            let json = try await shop.run("result", "1", "--file", path, "--force", "--json")
            #expect(
                json.output
                    == #"{"name":"größe.txt","size":11,"sha256":"6e569e05cb6f8608572c79d63b365dc31617bf84d7393d2cb9d2f1ffe0edf95b"}"#
                    + "\n")
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "the content")
            #expect(try await shop.run("result", "1", "--file", "-").output == "the content")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["file"])
        }
        if withDaemon {
            try await RunningDaemon.with(shop) { _ in try await check() }
        } else {
            try await check()
        }
    }

    @Test func onlyRegularFilesAreReplaced() async throws {
        let shop = try await Workshop()
        try await run(shop, [], keeping: "the content")
        let link = shop.directory.appending(path: "link").path
        #expect(symlink("/dev/null", link) == 0)
        for path in [shop.directory.path, link, "/dev/null", "/proc/none/file"] {
            let run = try await shop.run("result", "1", "--file", path, "--force")
            #expect(run.code == .data || run.code == .noInput)
            #expect(!run.errors.isEmpty)
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "/dev/null")
    }

    @Test func damagedContentIsNotWritten() async throws {
        let shop = try await Workshop()
        try await run(shop, [], keeping: "the content")
        let kept = try #require(try JobFiles(nextTo: shop.database).file(of: JobID(1)))
        #expect(chmod(kept.path, 0o600) == 0)
        try "THE CONTENT".write(toFile: kept.path, atomically: false, encoding: .utf8)
        let path = shop.directory.appending(path: "file").path
        // The command also finds damage of which the record says nothing.
        var facts = stat()
        #expect(stat(kept.path, &facts) == 0)
        let record = kept.path.dropLast("file".count) + "kept"
        #expect(utimensat(AT_FDCWD, String(record), [facts.st_ctim, facts.st_ctim], 0) == 0)
        let run = try await shop.run("result", "1", "--file", path)
        #expect(run.code == .inputOutput)
        #expect(run.errors.contains("The content of the file is damaged"))
        #expect(utimensat(AT_FDCWD, String(record), [timespec(), timespec()], 0) == 0)
        let refused = try await shop.run("result", "1", "--file", path)
        #expect(refused.code == .inputOutput)
        #expect(refused.errors.contains("is damaged, or somebody has changed it"))
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try !names(shop.directory.path).contains { $0.hasPrefix(".halyard") })
    }

    @Test func aFailedJobHasItsFailureAndNoFile() async throws {
        let shop = try await Workshop()
        try await run(shop, [], ending: Self.failed)
        let path = shop.directory.appending(path: "file").path
        let run = try await shop.run("result", "1", "--file", path)
        #expect(run.code == .jobFailed)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
