import Foundation
import Glibc
import Jobs
import Programs
import Testing

/// Workers that the configuration names, with real programs.
@Suite(.serialized) struct OwnWorkerTests {
    private static let hasPython = access("/usr/bin/python3", X_OK) == 0
    private static let examples = repository + "/config/examples/workers"

    /// Writes the configuration with these workers, each a line of YAML, from line 8 on.
    func configure(_ bed: TestBed, _ workers: String...) throws {
        try bed.configure("workers:\n" + workers.map { "  \($0)\n" }.joined())
    }

    func sample(_ arguments: String = "", _ more: String = "") -> String {
        "sample: {command: [\(binary("SampleWorker"))\(arguments)]\(more)}"
    }

    /// Defines one definition for each kind, of the same name.
    func define(_ kinds: String..., in bed: TestBed) async throws {
        let lines = kinds.map { "  \($0): {kind: \($0), retry: {tries: 1}}\n" }
        let document = try bed.folder.write("definitions:\n" + lines.joined(), to: "own.yaml")
        let applied = try await bed.halyard("definitions", "apply", document)
        try #require(applied.status == .exited(0), "\(applied.errors)")
    }

    /// Enqueues a job with this input.
    func enqueue(_ definition: String, _ input: String, in bed: TestBed) async throws {
        try await bed.enqueue(definition, "--input", try bed.folder.write(input, to: "input.json"))
    }

    /// The record of a worker in `halyard workers --json`.
    private func worker(_ name: String, in bed: TestBed) async throws -> JSONObject {
        let list = try await bed.halyard("workers", "--json")
        let workers = try JSONText(checking: Array(list.output.utf8)).elements ?? []
        return try #require(workers.compactMap { JSONObject($0) }.first { $0["name"]?.decodedString == name })
    }

    // MARK: Examples

    @Test(.enabled(if: Self.hasPython, "there is no /usr/bin/python3"), .timeLimit(.minutes(1)))
    func theExampleInPythonRunsJobs() async throws {
        let bed = try TestBed()
        // A copy that also writes to the log. Without this variable, Python may hold the line back.
        let example = try String(contentsOfFile: Self.examples + "/count-words.py", encoding: .utf8)
        let noisy = example.replacing("    words = 0\n", with: "    words = 0\n    print(\"counting\", len(text))\n")
        let program = try bed.folder.write(noisy, to: "noisy.py")
        try configure(bed, "words: {command: [/usr/bin/python3, \(program)], environment: {PYTHONUNBUFFERED: ''}}")
        try await bed.withDaemon { daemon in
            try await define("count-words", in: bed)
            for text in ["a", "a b", "a b\\nc"] {
                try await enqueue("count-words", #"{"text": "\#(text)"}"#, in: bed)
            }
            try await bed.waitForAllJobs()
            let results = try await bed.ask("SELECT value FROM results ORDER BY job")
            #expect(
                results == #"{"words":1,"lines":1}"# + "\n" + #"{"words":2,"lines":1}"# + "\n"
                    + #"{"words":3,"lines":2}"#)
            await daemon.errors.first(containing: "counting 5")
            let refused = try await bed.halyard(
                "enqueue", "count-words", "--input", try bed.folder.write(#"{"text": 3}"#, to: "number.json"))
            #expect(refused.status == .exited(65) && refused.errors.contains("text"), "\(refused)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func theExampleInShRunsJobs() async throws {
        let bed = try TestBed()
        try configure(bed, "load: {command: [/bin/sh, \(Self.examples)/load.sh], attempts: 4}")
        try await bed.withDaemon { _ in
            try await define("load", in: bed)
            for _ in 1...6 { try await bed.enqueue("load") }
            try await bed.waitForAllJobs()
            let results = try await bed.ask("SELECT value FROM results").split(separator: "\n")
            #expect(results.count == 6 && results.allSatisfy { $0.hasPrefix(#"{"load":"#) }, "\(results)")
        }
    }

    // MARK: Apart from each other

    /// P14.
    @Test(.timeLimit(.minutes(2)))
    func aWorkerThatCrashesLeavesTheOthersAlone() async throws {
        let bed = try TestBed()
        try configure(
            bed, sample(), "load: {command: [/bin/sh, \(Self.examples)/load.sh]}")
        try await bed.withDaemon { _ in
            try await define("act", "load", in: bed)
            try await enqueue("act", #"{"action": "crash"}"#, in: bed)
            for _ in 1...20 { try await bed.enqueue("load") }
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT error ->> 'code' FROM jobs WHERE job = 1") == "crashed")
            let others = "SELECT count(*) FROM jobs WHERE job > 1 AND state = 'succeeded' AND attempt = 1"
            #expect(try await bed.ask(others) == "21")
            let crashed = try await worker("sample", in: bed)
            #expect((crashed["crashes"]?.integer ?? 0) >= 1)
            #expect(try await worker("load", in: bed)["crashes"]?.integer == 0)
            #expect(try await worker("halyard-worker", in: bed)["crashes"]?.integer == 0)
            #expect(crashed["kinds"]?.string == #"["act","echo","join","keeper","picky"]"#)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aFloodOfMessagesDelaysNobodyElse() async throws {
        let bed = try TestBed()
        try configure(bed, sample(), "load: {command: [/bin/sh, \(Self.examples)/load.sh]}")
        try await bed.withDaemon { _ in
            try await define("act", "load", in: bed)
            try await enqueue("act", #"{"action": "progress", "number": 9000000}"#, in: bed)
            for job in 2...6 {
                #expect(try await bed.halyard("enqueue", "load", "--wait").status == .exited(0), "job \(job)")
            }
            #expect(try await bed.ask("SELECT state FROM jobs WHERE job = 1") == "running")
            #expect(try await bed.halyard("cancel", "1").status == .exited(0))
        }
    }

    // MARK: Checks

    @Test(.timeLimit(.minutes(1)))
    func theCheckNamesAWorkerThatCannotRunWithItsLine() async throws {
        let bed = try TestBed()
        try configure(bed, "missing: {command: [/nonexistent/worker]}", "quits: {command: [/bin/false]}")
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(78))
        let errors = check.errors.text
        #expect(errors.contains("halyard.yaml:8: workers.missing could not be started ("), "\(errors)")
        #expect(errors.contains("halyard.yaml:9: workers.quits exited with status 1"), "\(errors)")
    }

    @Test(.timeLimit(.minutes(1)))
    func aRefusedSettingIsReportedWithItsLine() async throws {
        let bed = try TestBed()
        try configure(
            bed, "sample:", "  command: [\(binary("SampleWorker")), settings]", "  settings:", "    sample.mode: bad")
        let told = "halyard.yaml:11: workers.sample: its setting sample.mode is \"bad\"; write good"
        for arguments in [["--check-config"], []] {
            let daemon = try bed.launch(arguments)
            #expect(await daemon.waitForEnd() == .exited(78))
            #expect(daemon.errors.text.contains(told), "\(daemon.errors.text)")
        }
        try configure(
            bed, "sample:", "  command: [\(binary("SampleWorker")), settings]", "  settings:", "    sample.mode: good")
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(0), "\(check.errors.text)")
        #expect(check.errors.text.contains("worker sample: sample.mode is good for 8 attempts"))
    }

    @Test(.timeLimit(.minutes(1)))
    func aKindOfTwoWorkersIsRefusedWithBothNames() async throws {
        let bed = try TestBed()
        let told = "halyard.yaml:9: workers.twin announces the kind \"act\", which worker sample runs; rename it"
        try configure(bed, sample(), "twin: {command: [\(binary("SampleWorker"))]}")
        for arguments in [["--check-config"], []] {
            let daemon = try bed.launch(arguments)
            #expect(await daemon.waitForEnd() == .exited(78))
            #expect(daemon.errors.text.contains(told), "\(daemon.errors.text)")
        }
        try configure(bed, sample())
        try await bed.withDaemon { _ in
            try configure(bed, sample(), "twin: {command: [\(binary("SampleWorker"))]}")
            let refused = try await bed.halyard("reload")
            #expect(refused.status == .exited(78) && refused.errors.contains(told), "\(refused.errors)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aKindThatNoWorkerHasCannotBeServed() async throws {
        let bed = try TestBed()
        let told = "daemon.kinds: unknown kind \"ecko\"; did you mean \"echo\"?"
        for arguments in [["--check-config"], []] {
            try configure(bed, sample())
            let daemon = try bed.launch(arguments + ["--set", "daemon.kinds=echo,ecko"])
            #expect(await daemon.waitForEnd() == .exited(78))
            #expect(daemon.errors.text.contains(told), "\(daemon.errors.text)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aKindOfTheBuiltInWorkerIsRefused() async throws {
        let bed = try TestBed()
        try configure(bed, "second: {command: [\(binary("halyard-worker"))]}")
        let check = try bed.launch(["--check-config"])
        #expect(await check.waitForEnd() == .exited(78))
        #expect(check.errors.text.contains("halyard.yaml:8: workers.second "), "\(check.errors.text)")
    }

    // MARK: Workers that do not run

    @Test(.timeLimit(.minutes(2)))
    func jobsOfAWorkerThatCannotStartWaitUntilItCan() async throws {
        let bed = try TestBed()
        try configure(bed, sample())
        // The database knows the kinds from this start.
        try await bed.withDaemon { _ in try await define("echo", in: bed) }
        let program = bed.folder.path + "/worker"
        try configure(bed, "sample: {command: [\(program)]}")
        try await bed.withDaemon { daemon in
            #expect(daemon.errors.text.contains("workers.sample could not be started"), "\(daemon.errors.text)")
            try await enqueue("echo", "{}", in: bed)
            #expect(
                try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1", "--wait").status == .exited(0))
            let why = try await bed.halyard("why", "1").output
            #expect(why.contains("worker sample could not be started ("), "\(why)")
            #expect(!why.contains("as soon as"))
            let status = try await bed.halyard("status").output
            #expect(status.contains("worker sample could not be started"), "\(status)")
            let list = try await bed.halyard("workers").output
            #expect(list.contains("problem: worker sample could not be started"), "\(list)")
            #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE job_id = 1") == "0")
            // The daemon starts the worker by itself once the program exists.
            symlink(binary("SampleWorker"), program)
            let waited = try await bed.halyard("wait", "1")
            #expect(waited.status == .exited(0), "\(waited)")
            #expect(try await worker("sample", in: bed)["problem"] == nil)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func onceEndsIfAWorkerNeverStarts() async throws {
        let bed = try TestBed()
        try configure(bed, sample())
        try await bed.withDaemon { _ in try await define("echo", in: bed) }
        try await enqueue("echo", "{}", in: bed)
        try await bed.enqueue("visit", "\(bed.server.site)/page/1")
        try configure(bed, "sample: {command: [/nonexistent/worker]}")
        let once = try bed.launch(["--once"])
        #expect(await once.waitForEnd() == .exited(74), "\(once.errors.text)")
        #expect(
            once.errors.text.contains("Some jobs still wait for a worker: worker sample could not be started"),
            "\(once.errors.text)")
        #expect(try await bed.ask("SELECT state FROM jobs ORDER BY job") == "ready\nsucceeded")
    }

    @Test(.timeLimit(.minutes(2)))
    func aWorkerThatKeepsDyingRestsAndSaysWhy() async throws {
        let bed = try TestBed()
        // Introduces itself, and dies when it is given a job, without having begun it.
        try bed.folder.write(
            """
            read -r hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"fragile","summary":"Dies"}]}'
            while read -r line; do case $line in '{"type":"run"'*) exit 3 ;; '{"type":"drain"'*) exit 0 ;; esac; done
            """, to: "fragile.sh")
        try configure(bed, "fragile: {command: [/bin/sh, \(bed.folder.path)/fragile.sh]}")
        try await bed.withDaemon { daemon in
            try await define("fragile", in: bed)
            try await bed.enqueue("fragile")
            await daemon.errors.first { $0.contains("its processes keep exiting") && $0.contains("starts again in 8s") }
            let resting = try await worker("fragile", in: bed)
            #expect((resting["crashes"]?.integer ?? 0) >= 5)
            let why = try await bed.halyard("why", "1").output
            #expect(why.contains("worker fragile exited with status 3"), "\(why)")
            #expect(resting["problem"]?.decodedString?.contains("worker fragile exited with status 3") == true)
            #expect(resting["rests_until"] != nil)
        }
    }

    /// Such a worker must not run its job forever.
    @Test(.timeLimit(.minutes(2)))
    func aJobWhoseWorkerSavesBeforeItStartsFailsAfterItsLimit() async throws {
        let bed = try TestBed()
        try bed.folder.write(
            #"""
            read -r hello
            echo '{"type":"kinds","protocol":1,"kinds":[{"name":"hasty","summary":"Saves too early"}]}'
            while read -r line; do
                case $line in
                '{"type":"run"'*)
                    lease=$(printf '%s' "$line" | grep -o '"job":[0-9]*,"attempt":[0-9]*')
                    printf '{"type":"checkpoint",%s,"id":1,"checkpoint":1}\n' "$lease" ;;
                '{"type":"drain"'*) exit 0 ;;
                esac
            done
            """#, to: "hasty.sh")
        try configure(bed, "hasty: {command: [/bin/sh, \(bed.folder.path)/hasty.sh]}")
        try await bed.withDaemon { _ in
            try await define("hasty", in: bed)
            try await bed.enqueue("hasty")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state, error ->> 'code' FROM jobs WHERE job = 1") == "failed|crashed")
            let early = "SELECT count(*) FROM attempts WHERE error ->> 'message' LIKE '%before started%'"
            #expect(try await bed.ask(early) == "4")
            // The default of max_rescues is 3.
            #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE job_id = 1") == "4")
            #expect(try await bed.ask("SELECT count(*) FROM checkpoint") == "0")
        }
    }

    // MARK: Reload

    @Test(.timeLimit(.minutes(2)))
    func aReloadAddsChangesAndRemovesWorkers() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            try configure(bed, sample("", ", attempts: 3"))
            #expect(try await bed.halyard("reload").status == .exited(0))
            try await define("act", "echo", in: bed)
            #expect(try await bed.halyard("enqueue", "echo", "--wait").status == .exited(0))
            #expect(try await worker("sample", in: bed)["attempt_limit"]?.integer == 3)
            // A running attempt keeps its process through a change and through the removal.
            try await enqueue("act", #"{"action": "wait", "text": "I wait"}"#, in: bed)
            await daemon.errors.first(containing: "worker sample stderr: I wait")
            try configure(bed, sample("", ", attempts: 5, processes: 2"))
            #expect(try await bed.halyard("reload").status == .exited(0))
            let changed = try await worker("sample", in: bed)
            #expect(changed["attempt_limit"]?.integer == 5 && changed["process_limit"]?.integer == 2)
            try configure(bed, sample("x", ""))
            let refused = try await bed.halyard("reload")
            #expect(refused.status == .exited(78), "\(refused)")
            #expect(refused.errors.contains("halyard.yaml:8: workers.sample could not be started"), "\(refused.errors)")
            try bed.configure()
            #expect(try await bed.halyard("reload").status == .exited(0))
            // The process with the running attempt is still shown.
            let removed = try await worker("sample", in: bed)
            #expect(removed["removed"]?.boolean == true)
            #expect(removed["processes"]?.elements?.isEmpty == false)
            #expect(try await bed.halyard("workers").output.contains("removed, finishes its jobs"))
            #expect(try await bed.ask("SELECT state FROM jobs WHERE job = 2") == "running")
            // No worker runs its kinds any more.
            let unknown = try await bed.halyard("enqueue", "echo")
            #expect(unknown.status != .exited(0), "\(unknown)")
            #expect(try await bed.halyard("cancel", "2").status == .exited(0))
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM jobs WHERE job = 2") == "cancelled")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aReloadSaysWhichWorkersCannotRun() async throws {
        let bed = try TestBed()
        try configure(bed, "missing: {command: [/nonexistent/worker]}")
        try await bed.withDaemon { _ in
            let reloaded = try await bed.halyard("reload")
            #expect(reloaded.status == .exited(69), "\(reloaded.errors)")
            let fault = "halyard.yaml:8: workers.missing could not be started ("
            #expect(reloaded.errors.contains(fault), "\(reloaded.errors)")
            #expect(reloaded.errors.contains("the jobs of its kinds wait until it can run"), "\(reloaded.errors)")
            // One refusal names the settings that need a restart and the workers that cannot run.
            try bed.configure("max_rescues: 9\nworkers:\n  other: {command: [/nonexistent/worker]}\n")
            let refused = try await bed.halyard("reload")
            #expect(refused.status == .exited(78))
            #expect(refused.errors.contains("A reload cannot change max_rescues"), "\(refused.errors)")
            #expect(refused.errors.contains("workers.other could not be started"), "\(refused.errors)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aJobThatWaitsNamesNoWorkerOfOtherKinds() async throws {
        let bed = try TestBed()
        let load = "load: {command: [/bin/sh, \(Self.examples)/load.sh]}"
        try configure(bed, sample(), load)
        try await bed.withDaemon { _ in try await define("echo", in: bed) }
        let late = bed.folder.path + "/late.sh"
        try configure(
            bed, "sample: {command: [/nonexistent/worker]}", load, "late: {command: [/bin/sh, \(late)]}")
        try await bed.withDaemon { daemon in
            try await enqueue("echo", "{}", in: bed)
            // Its kinds are not known yet, so it could be the one.
            #expect(try await bed.halyard("why", "1").output.contains("worker late exited with status"))
            try await ChildProcess.run("cp", [Self.examples + "/load.sh", late])
            await daemon.errors.first(containing: "worker late announces the kind")
            let why = try await bed.halyard("why", "1").output
            #expect(why.contains("worker sample could not be started"), "\(why)")
            #expect(!why.contains("late"), "\(why)")
            #expect(try await bed.halyard("workers").output.contains("problem: worker late announces the kind"))
        }
    }
}
