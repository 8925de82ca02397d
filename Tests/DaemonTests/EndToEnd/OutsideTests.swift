import Foundation
import Glibc
import Logging
import Programs
import SQLiteStore
import Stores
import Systemd
import Testing

@testable import Daemon

/// What others see of a working daemon.
@Suite(.serialized) struct OutsideTests {
    @Test(.timeLimit(.minutes(1)))
    func everyViewReadsWhileJobsRun() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/gate/1", "/page/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            for view in ["jobs", "results", "attempts", "queues", "graphs", "waiting"] {
                _ = try await bed.ask("SELECT * FROM \(view)")
            }
            #expect(try await bed.ask("SELECT state FROM jobs WHERE job = 1") == "running")
            bed.server.openGate()
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM jobs ORDER BY job") == "succeeded\nsucceeded")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func everyConnectionOfAnAttemptIsTold() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/hop/2?token=canary"])
            try await bed.waitForAllJobs()
            let told = try await bed.ask(
                """
                SELECT value ->> 'number', value ->> 'method', value ->> 'origin', value ->> 'address', value ->> 'protocol',
                       value ->> 'status'
                FROM   attempts, json_each(connections) WHERE job = 1
                """)
            let address = "127.0.0.1:\(bed.server.port)"
            #expect(
                told
                    == [302, 302, 200].enumerated().map {
                        "\($0 + 1)|HEAD|http://\(address)|\(address)|HTTP/1.1|\($1)"
                    }.joined(separator: "\n"))
            #expect(!(try await bed.ask("SELECT connections FROM attempt")).contains("canary"))
            let shown = try await bed.halyard("show", "1")
            #expect(shown.output.contains("connections of attempt 1"))
            #expect(shown.output.components(separatedBy: "\(address)  302").count == 3)
            #expect(try await bed.halyard("show", "1", "--json").output.contains("\"connections\":[{\"number\":1,"))
        }
    }

    /// P12, and hostile text never reaches a terminal or another line of the log.
    @Test(.timeLimit(.minutes(1)))
    func controlCharactersReachNoTerminal() async throws {
        let bed = try TestBed()
        let hostile = "\u{1b}]0;owned\u{7}\u{202e}"
        let missing = try bed.launch(["--config", "/nonexistent/\(hostile)\nREADY=1"])
        #expect(await missing.waitForEnd() == .exited(78))
        #expect(missing.errors.text.contains("\\x1b]0;owned\\x07\\u{202e}"))
        #expect(!missing.errors.text.contains("\u{1b}"))
        #expect(await bed.notifications.heard.first { $0.hasPrefix("ERRNO=") } != nil)
        #expect(!bed.notifications.heard.all.contains("READY=1"))
        try await bed.withDaemon { daemon in
            try bed.folder.write(
                "{\"definition\": \"visit\", \"input\": {\"url\": \"http://127.0.0.1:\(bed.server.port)/\\u001b]0;owned\\u0007\"}}\n",
                to: "hostile.jsonl")
            _ = try await bed.halyard("enqueue", "--lines", bed.folder.path + "/hostile.jsonl")
            for verb in [["list"], ["show", "1"], ["why", "1"], ["result", "1"], ["status"]] {
                let shown = try await ChildProcess.run(
                    binary("halyard"), verb, environment: ["HALYARD_SOCKET": bed.socket])
                #expect(!(shown.output + shown.errors).contains("\u{1b}"))
            }
            #expect(!daemon.errors.text.contains("\u{1b}"))
            #expect(!bed.notifications.heard.text.contains("\u{1b}"))
        }
    }

    /// The group may connect and read, others nothing, also where the daemon's surroundings are careless or strict.
    @Test(.timeLimit(.minutes(1)), arguments: ["000", "077"])
    func modesDoNotDependOnTheUmask(umask: String) async throws {
        let bed = try TestBed()
        let daemon = try bed.spawn(
            "sh", ["-c", "umask \(umask); exec \"$0\" --config \"$1\"", binary("halyardd"), bed.configuration],
            environment: ["NOTIFY_SOCKET": bed.notifications.address])
        try #require(await bed.notifications.heard.first { $0 == "READY=1" } != nil)
        try await bed.enqueue("visit", "\(bed.server.site)/page/1")
        func mode(_ path: String) throws -> mode_t {
            var status = stat()
            try #require(stat(path, &status) == 0)
            return status.st_mode & 0o7777
        }
        #expect(try mode(bed.socket) == 0o660)
        for suffix in ["", "-wal", "-shm"] { #expect(try mode(bed.database + suffix) == 0o640) }
        // Whoever can open it can take the lock.
        #expect(try mode(bed.database + "-lock") == 0o600)
        #expect(try mode(bed.folder.path + "/spool") == 0o700)
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
    }

    @Test(.timeLimit(.minutes(1)))
    func aSecretReachesTheServerAndNothingElse() async throws {
        let bed = try TestBed()
        let canary = "canary-7f3a9d1c5e"
        try bed.folder.write(canary, to: "TOKEN")
        try bed.folder.write("content", to: "file.txt")
        try bed.configure(
            "upload: {roots: [\(bed.folder.path)], credentials: \(bed.folder.path), credential_origins: [\"TOKEN=\(bed.server.site)\"]}\nlog: {level: trace}"
        )
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(bed.folder.path)/file.txt", "--set", "to=\(bed.server.site)/inbox/file.txt",
                "--set", "credential=TOKEN")
            // In a custom header, to a server that repeats the request in its answer.
            try await bed.enqueue(
                "send", "--set", "file=\(bed.folder.path)/file.txt", "--set", "to=\(bed.server.site)/echo/file.txt",
                "--set", "credential=TOKEN", "--set", "credential_header=X-Api-Key", "--set", "credential_prefix=Key ")
            try await bed.waitForAllJobs()
            #expect(bed.server.headers.text.contains("Bearer \(canary)"))
            #expect(bed.server.headers.text.contains("x-api-key: Key \(canary)"))
            #expect(try await bed.ask("SELECT value ->> '$.answer.withheld' FROM results WHERE job = 2") == "1")
            #expect(try await bed.ask("SELECT value ->> '$.answer.content_type' FROM results WHERE job = 1") != "")
            let arguments = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(daemon.pid)/cmdline"))
            #expect(!String(decoding: arguments, as: UTF8.self).contains(canary))
            // A server that is not named for it, although it is the same one.
            let elsewhere = try await bed.halyard(
                "enqueue", "send", "--set", "file=\(bed.folder.path)/file.txt", "--set",
                "to=http://localhost:\(bed.server.port)/inbox/theirs.txt", "--set", "credential=TOKEN")
            #expect(elsewhere.status == .exited(65) && elsewhere.errors.contains("may not be sent to"))
            let shown = try await bed.halyard("show", "1", "--json")
            let echoed = try await bed.halyard("show", "2", "--json")
            #expect(!echoed.output.contains(canary))
            #expect(!(shown.output + shown.errors + daemon.errors.text + bed.notifications.heard.text).contains(canary))
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        // grep answers 1 when no file holds it.
        let search = try await ChildProcess.run(
            "grep", ["-rlaF", "--include=halyard.db*", canary, bed.folder.path])
        #expect(search.status == .exited(1))
        #expect(try await bed.ask("SELECT DISTINCT state FROM job") == "4")
    }

    @Test(.timeLimit(.minutes(2)))
    func aFolderIsUploadedAsOneGraph() async throws {
        let bed = try TestBed()
        let tree = bed.folder.path + "/tree"
        try #require(mkdir(tree, 0o700) == 0 && mkdir(tree + "/b c", 0o700) == 0)
        try bed.folder.write("1", to: "tree/a.txt")
        try bed.folder.write("22", to: "tree/b c/ü?.txt")
        try bed.folder.write("333", to: "tree/b c/d")
        try #require(symlink("/etc/passwd", tree + "/link") == 0)
        try await bed.withDaemon { _ in
            let sent = try await bed.halyard(
                "upload", tree, "--to", "\(bed.server.site)/inbox/{path}", "--definition", "send", "--wait")
            #expect(sent.status == .exited(0), "\(sent.errors)")
            #expect(sent.errors.contains("1 name left out"))
            #expect(bed.server.received(at: "/inbox/a.txt") == 1)
            #expect(bed.server.received(at: "/inbox/b%20c/%C3%BC%3F.txt") == 2)
            #expect(bed.server.received(at: "/inbox/b%20c/d") == 3)
            #expect(try await bed.ask("SELECT count(*), count(DISTINCT graph) FROM jobs") == "3|1")
            let same = try await bed.halyard("upload", tree, "--to", bed.server.site + "/x", "--definition", "send")
            #expect(same.status == .exited(65) && same.errors.contains("Write {path} into it"))
            let none = try await bed.halyard("upload", tree + "/none", "--to", bed.server.site + "/x")
            #expect(none.status == .exited(66))
            #expect(try await bed.ask("SELECT count(*) FROM jobs") == "3")
        }
    }

    /// Only the configuration names a proxy; these lead nowhere.
    @Test(.timeLimit(.minutes(1)))
    func aProxyOfTheEnvironmentDoesNotCount() async throws {
        let bed = try TestBed()
        let names = ["http_proxy", "https_proxy", "all_proxy"]
        let variables = Dictionary(
            uniqueKeysWithValues: (names + names.map { $0.uppercased() }).map { ($0, "http://127.0.0.1:1") })
        try await bed.withDaemon(environment: variables) { _ in
            try await bed.enqueueVisits(["/page/1"])
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT outcome FROM results") == "succeeded")
        }
        try bed.configure("  proxy: http://127.0.0.1:1\n  proxy_credential: none")
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/page/2"])
            try await bed.waitForAllJobs()
            #expect(
                try await bed.ask("SELECT error ->> 'code' FROM results ORDER BY job DESC LIMIT 1")
                    == "credential_not_found")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func p12APrivateAddressIsReachedOnlyWhereAllowed() async throws {
        let bed = try TestBed()
        try bed.configure(allow: [])
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/page/1"])
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT outcome, error ->> 'code' FROM results").hasPrefix("failed|"))
            #expect(bed.server.requests.all.isEmpty)
        }
        try bed.configure()
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/page/2"])
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT outcome FROM results ORDER BY job DESC LIMIT 1") == "succeeded")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func p12AFileOutsideTheRootsIsRefusedOrStreamed() async throws {
        let bed = try TestBed()
        try bed.folder.write("content of a user", to: "own.txt")
        try await bed.withDaemon { _ in
            // Straight to the daemon, as a program would: the daemon may not read it.
            let refused = try await ChildProcess.run(
                "curl",
                [
                    "-sS", "--unix-socket", bed.socket, "http://halyard/v1/jobs", "-H",
                    "Content-Type: application/json",
                    "-d",
                    "{\"definition\": \"send\", \"input\": {\"file\": \"/etc/passwd\", \"to\": \"\(bed.server.site)/inbox/x\"}}",
                ])
            #expect(refused.output.contains("outside-roots"))
            // The command line copies what its user may read.
            try await bed.enqueue("send", bed.folder.path + "/own.txt", "\(bed.server.site)/inbox/own.txt")
            try await bed.waitForAllJobs()
            #expect(bed.server.received(at: "/inbox/own.txt") == 17)
            #expect(try await bed.ask("SELECT state FROM job") == "4")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func childrenOfTheServiceManagerCannotSpeakForUs() async throws {
        let bed = try TestBed()
        try await bed.withDaemon(environment: ["INVOCATION_ID": "abc", "WATCHDOG_USEC": "60000000"]) { daemon in
            // Its first environment is fixed by the kernel; what a child would inherit is not readable from outside,
            // so the proof of scrubbing is in SystemdTests. Here: levels are told as a manager wants them.
            #expect(await daemon.errors.first { $0.hasPrefix("<5>ready") } != nil)
            #expect(await bed.notifications.heard.first { $0 == "WATCHDOG=1" } != nil)
        }
    }

    /// P8: a timer that the kernel cancels because somebody set the clock is looked at as one that rang. Here every answer
    /// of the kernel is that the clock was set; a test of the clock runs on it all the same, in a process of its own.
    @Test(.timeLimit(.minutes(1)), .enabled(if: access("/usr/bin/strace", X_OK) == 0, "needs strace"))
    func aClockThatIsSetRings() async throws {
        let folder = try TemporaryFolder()
        let trace = folder.path + "/trace"
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let run = try await ChildProcess.run(
            "/usr/bin/strace",
            [
                "-f", "-qq", "-o", trace, "-P", "anon_inode:[timerfd]", "-e", "trace=read", "-e",
                "inject=read:error=ECANCELED", tests, "--testing-library", "swift-testing", "--filter",
                "wallAlarmRingsWhenItsMomentHasCome",
            ], environment: ["LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? ""])
        #expect(run.status == .exited(0), "\(run.output) \(run.errors)")
        #expect(run.errors.contains("with 1 test in 1 suite passed"), "\(run.errors)")
        #expect(try String(contentsOfFile: trace, encoding: .utf8).contains("ECANCELED"))
    }

    /// Somebody's open transaction keeps the log from beginning anew; the status says so, until it ends.
    @Test(.timeLimit(.minutes(1)))
    func aLongReadIsToldInTheStatus() async throws {
        let bed = try TestBed()
        var configuration = DaemonConfiguration()
        configuration.database = bed.database
        configuration.socket = bed.socket
        configuration.definitions = bed.folder.path + "/definitions.yaml"
        configuration.statusInterval = .milliseconds(1)
        var surroundings = DaemonSurroundings()
        surroundings.notifier = Notifier(bed.notifications.address)
        surroundings.opening = { configuration in
            FileOpening(
                path: configuration.database, options: StoreOptions(walBytes: 32 << 10, checkpointPages: 8))
        }
        surroundings.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let (handles, ready) = AsyncStream.makeStream(of: DaemonHandle.self)
        surroundings.onReady = { ready.yield($0) }
        let heard = bed.notifications.heard
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [configuration, surroundings] in try await Daemon.run(configuration, in: surroundings) }
            var iterator = handles.makeAsyncIterator()
            let handle = try #require(await iterator.next())
            defer { handle.stop() }
            // Ends with the shell that started it.
            let reader = try bed.spawn(
                "sqlite3",
                [
                    "-readonly", bed.database, "BEGIN", "SELECT count(*) FROM job",
                    ".shell echo reads; exec tail --pid=$PPID -f /dev/null",
                ])
            await reader.output.first { $0.hasPrefix("reads") }
            let lines = (1...300).map { "\(bed.server.site)/\(String(repeating: "a", count: 2000))/\($0)" }.map {
                "{\"definition\": \"visit\", \"input\": {\"url\": \"\($0)\"}, \"in_ms\": 3600000}\n"
            }
            try bed.folder.write(lines.joined(), to: "later.jsonl")
            try await bed.enqueue("--lines", bed.folder.path + "/later.jsonl")
            let told = try #require(
                await heard.first { $0.contains("; the write-ahead log has ") && $0.contains("end that") })
            await reader.stop()
            // The log is copied after a commit, and begins anew with a later one, which the status tells with that one's job.
            var last: String?
            for number in 1...20 where last?.contains("write-ahead") != false {
                let from = heard.all.count
                try await bed.enqueue("visit", "\(bed.server.site)/\(number)", "--in", "1h")
                last = await heard.first(from: from) { $0.contains("\(300 + number) scheduled") }?.line
            }
            #expect(told.index < heard.all.count)
            #expect(last?.contains("write-ahead") == false)
            handle.stop()
            try await group.waitForAll()
        }
    }

    /// The whole story of each job, and nothing of what it was given.
    @Test(.timeLimit(.minutes(1)))
    func theLogTellsTheStoryOfEachJob() async throws {
        let bed = try TestBed()
        // Nobody listens on the second one.
        try bed.configure("log: {level: debug}", allow: ["127.0.0.1:\(bed.server.port)", "127.0.0.1:1"])
        try await bed.withDaemon { daemon in
            func story(of job: Int, until last: String) async -> [String] {
                @Sendable func isOf(_ line: String) -> Bool { "\(line) ".contains(" job=\(job) ") }
                await daemon.errors.first { isOf($0) && $0.contains(last) }
                return daemon.errors.all.filter(isOf).map { line in
                    line.split(separator: " ").dropFirst(2).prefix { !$0.contains("=") }.joined(separator: " ")
                }
            }
            try await bed.enqueue("visit", "\(bed.server.site)/page/hidden")
            let first = await story(of: 1, until: "succeeded")
            #expect(first.dropLast() == ["job 1: enqueued; it is ready", "job 1 (visit): attempt 1 started"])
            #expect(first.last?.hasPrefix("job 1 (visit): succeeded in ") == true)
            try await bed.enqueue("visit", "http://127.0.0.1:1/hidden")
            try await bed.enqueue("visit", "\(bed.server.site)/page/hidden", "--after", "2")
            let retried = await story(of: 2, until: "trying again")
            #expect(retried.dropLast() == ["job 2: enqueued; it is ready", "job 2 (visit): attempt 1 started"])
            let reason = "job 2 (visit): attempt 1 failed; trying again in 1h: "
            #expect(
                retried.last?.hasPrefix(reason) == true && retried.last?.contains("127.0.0.1") == true, "\(retried)")
            #expect(try await bed.halyard("cancel", "2").status == .exited(0))
            #expect(await story(of: 2, until: "cancelled").last == "job 2: cancelled before running")
            let skipped = await story(of: 3, until: "skipped")
            #expect(
                skipped == [
                    "job 3: enqueued; it is blocked", "job 3: skipped: the dependency, job 2, did not succeed",
                ])
            #expect(!daemon.errors.text.contains("hidden"))
        }
    }

    /// P10: without a watchdog an idle daemon sleeps. One thread wakes all the same, once a second, and does nothing: it
    /// is libdispatch's, which looks after its pool. Any other that polled would be seen in every second.
    @Test(.timeLimit(.minutes(1)))
    func anIdleDaemonSleeps() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            try await bed.waitForAllJobs()
            // Connections that the visit left open are closed meanwhile, so the first quiet second counts.
            var wakeups: [Int] = []
            for _ in 1...15 {
                let before = try Self.sleeps(of: daemon.pid)
                _ = await bed.notifications.silence()
                let after = try Self.sleeps(of: daemon.pid)
                let byThread = after.map { $0.value - (before[$0.key] ?? 0) }.sorted()
                wakeups.append(byThread.dropLast().reduce(0, +))
                if wakeups.last == 0 { return }
            }
            Issue.record("threads woke in every second: \(wakeups)")
        }
    }

    /// How often each thread of a process has gone to sleep.
    private static func sleeps(of pid: pid_t) throws -> [String: Int] {
        var counts: [String: Int] = [:]
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            let status = try String(contentsOfFile: "/proc/\(pid)/task/\(task)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            counts[task] = line?.split(separator: "\t").last.flatMap { Int($0) }
        }
        return counts
    }
}
