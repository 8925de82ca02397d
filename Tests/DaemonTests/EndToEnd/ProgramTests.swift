import Foundation
import Glibc
import Programs
import Testing

/// Programs that definitions name, run by the packaged daemon.
@Suite(.serialized) struct ProgramTests {
    private static let roots = "program:\n  roots: [/bin, /usr/bin]\n"

    private func apply(_ definitions: String, in bed: TestBed) async throws -> String {
        try bed.folder.write("definitions:\n" + definitions, to: "programs.yaml")
        return try await bed.halyard("definitions", "apply", bed.folder.path + "/programs.yaml").errors
    }

    @Test(.timeLimit(.minutes(1)))
    func aJobRunsTheProgramOfItsDefinition() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        try await bed.withDaemon { _ in
            let problems = try await apply(
                """
                  greet:
                    kind: program
                    program: [/bin/echo, "Hello,", "{name}", "n={count}"]
                    fields: {name: {required: true}, count: {type: integer, default: 3}}
                    result: text
                  fail:
                    kind: program
                    program: [/bin/sh, -c, "echo why >&2; exit 2"]
                    exit: {2: {fail: bad_image}}
                  after:
                    kind: program
                    program: [/bin/cat]
                    result: json
                """, in: bed)
            #expect(problems == "")
            try await bed.enqueue("greet", "a b; $(id) 'c'")
            try await bed.enqueue("fail")
            try await bed.enqueue("after", "--after", "1")
            try await bed.waitForAllJobs()
            #expect(
                try await bed.ask("SELECT value FROM results WHERE job = 1") == #""Hello, a b; $(id) 'c' n=3""#)
            #expect(
                try await bed.ask("SELECT error ->> 'code', error ->> '$.detail.log[0]' FROM results WHERE job = 2")
                    == "bad_image|why")
            #expect(
                try await bed.ask("SELECT value ->> '$.dependencies[0].output' FROM results WHERE job = 3")
                    == "Hello, a b; $(id) 'c' n=3")
            #expect(try await bed.ask("SELECT count(*) FROM attempts WHERE usage ->> 'processor_ms' >= 0") == "3")
            #expect(try await bed.halyard("show", "1").output.contains(" CPU"))
            let shown = try await bed.halyard("definitions", "show", "greet").output
            #expect(shown.contains("/bin/echo"))
            #expect(shown.contains("required"))
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func logsAndFilesStayWithTheJob() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        let sent = "7|ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
        try await bed.withDaemon { daemon in
            _ = try await apply(
                """
                  make:
                    kind: program
                    program: [/bin/sh, -c, 'echo working; printf content > "$1"', sh, "{output}"]
                    result: file
                  read:
                    kind: program
                    program: [/bin/cat, dependencies/1]
                    result: text
                """, in: bed)
            try await bed.enqueue("make")
            try await bed.enqueue("read", "--after", "1")
            // The daemon's log names the origin of the line, and adds nothing that could be mistaken for output.
            let line = try #require(await daemon.errors.first(containing: "job 1 attempt 1 output: ")).line
            #expect(line.hasSuffix(" output: working"), "\(line)")
            try await bed.enqueue("send", "--after", "1", "--set", "to=\(bed.server.site)/upload/made")
            try await bed.waitForAllJobs()
            #expect(
                try await bed.ask("SELECT value ->> 'bytes', value ->> 'sha256' FROM results WHERE job = 3") == sent)
            #expect(try await bed.halyard("log", "1").output.contains("working"))
            #expect(try await bed.ask("SELECT value ->> 'size', value ->> 'sha256' FROM results WHERE job = 1") == sent)
            #expect(try await bed.ask("SELECT value FROM results WHERE job = 2") == #""content""#)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aFileThatWasHandedOverReachesItsProgram() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        try await bed.withDaemon { _ in
            _ = try await apply(
                """
                  read:
                    kind: program
                    program: [/bin/cat, "{file}"]
                    fields: {file: {required: true}}
                    result: text
                """, in: bed)
            let path = try bed.folder.write("the only copy", to: "a photo.jpg")
            let sent = try await bed.halyard("enqueue", "read", path, "--copy")
            try #require(sent.status == .exited(0), "\(sent.errors)")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT value FROM results") == #""the only copy""#)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aListOfACallerBecomesArguments() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        try await bed.withDaemon { _ in
            let problems = try await apply(
                """
                  print:
                    kind: program
                    program: [/usr/bin/printf, "[%s]", "{words}"]
                    fields: {words: {type: strings, required: true}}
                    result: text
                """, in: bed)
            #expect(problems == "")
            try await bed.enqueue("print", #"words=["a b", "$(id)", "*"]"#)
            for refused in [#"{"words": ["-v", "x"]}"#, #"{"words": []}"#, #"{"words": [1]}"#, #"{"words": "a"}"#] {
                let input = try bed.folder.write(refused, to: "refused.json")
                let answer = try await bed.halyard("enqueue", "print", "--input", input)
                #expect(answer.status != .exited(0), "\(answer)")
                #expect(answer.errors.contains("words"), "\(answer)")
            }
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT value FROM results") == #""[a b][$(id)][*]""#)
            let shown = try await bed.halyard("definitions", "show", "print").output
            #expect(shown.contains("strings"), "\(shown)")
        }
    }

    private static let hasSecondFileSystem: Bool = {
        var (here, there) = (stat(), stat())
        return stat("/tmp", &here) == 0 && stat("/dev/shm", &there) == 0 && here.st_dev != there.st_dev
    }()

    @Test(.enabled(if: hasSecondFileSystem, "there is no second file system"), .timeLimit(.minutes(1)))
    func programsOnAnotherFileSystemAreRefused() async throws {
        let bed = try TestBed()
        let (wrong, why) = ("  directory: /dev/shm\n", "program.directory: /dev/shm is on another file system than")
        try bed.configure(Self.roots + wrong)
        for arguments in [["--check-config"], []] {
            let daemon = try bed.launch(arguments)
            #expect(await daemon.waitForEnd() == .exited(78))
            #expect(daemon.errors.text.contains(why), "\(daemon.errors.text)")
            #expect(daemon.errors.text.contains("use a folder on the file system of the daemon's other files"))
        }
        // Without programs, the folder does not matter.
        try bed.configure("program:\n" + wrong)
        #expect(await (try bed.launch(["--check-config"])).waitForEnd() == .exited(0))
    }

    /// The daemon keeps the file, and the built-in worker finds it.
    @Test(.timeLimit(.minutes(1))) func aResultFileIsSentFromAFolderWithALinkInItsPath() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        #expect(mkdir(bed.folder.path + "/real", 0o700) == 0)
        #expect(symlink("real", bed.folder.path + "/link") == 0)
        try await bed.withDaemon(["--database=\(bed.folder.path)/link/halyard.db"]) { _ in
            _ = try await apply(Self.makeAndEdit, in: bed)
            try await bed.enqueue("make")
            try await bed.enqueue("send", "--after", "1", "--set", "to=\(bed.server.site)/inbox/made")
            try await bed.enqueue("read", "--after", "1")
            let waited = try await bed.halyard("wait", "1", "2", "3")
            #expect(waited.status == .exited(0), "\(waited)")
            #expect(bed.server.received(at: "/inbox/made") == 7)
            #expect(try await bed.halyard("result", "3").output == #""content""#)
        }
    }

    /// P12: the one who enqueues chooses values, nothing else.
    @Test(.timeLimit(.minutes(1)))
    func aCallerCannotChooseTheProgram() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        try await bed.withDaemon { _ in
            _ = try await apply(
                """
                  greet:
                    kind: program
                    program: [/bin/echo, "{name}"]
                    fields: {name: {required: true}}
                """, in: bed)
            for set in ["program=[\"/bin/sh\"]", "environment={}", "other=x"] {
                let result = try await bed.halyard("enqueue", "greet", "x", "--set", set)
                #expect(result.status != .exited(0))
                #expect(result.errors.contains("Unknown field"))
            }
            let option = try await bed.halyard("enqueue", "greet", "--set", "name=-n")
            #expect(option.status != .exited(0))
            #expect(option.errors.contains("read it as an option"))
            #expect(try await bed.ask("SELECT count(*) FROM job") == "0")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func withoutRootsNoDefinitionMayNameAProgram() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let problem = try await apply("  x:\n    kind: program\n    program: [/bin/true]\n", in: bed)
            #expect(problem.contains("set program.roots in halyard.yaml"))
            #expect(try await bed.ask("SELECT count(*) FROM definition WHERE name = 'x'") == "0")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aProgramThatTakesTooLongIsEnded() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots + "grace: 200ms\n")
        try await bed.withDaemon { daemon in
            _ = try await apply(
                """
                  hang:
                    kind: program
                    program: [/bin/sh, -c, "trap '' TERM; while :; do sleep 1; done"]
                    timeout: 300ms
                    retry: {tries: 1}
                """, in: bed)
            try await bed.enqueue("hang")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT error ->> 'code' FROM results") == "timed_out")
            let end = "did not end within 200ms of SIGTERM and was killed"
            let message = try await bed.ask("SELECT error ->> 'message' FROM results")
            #expect(
                message.hasSuffix(" The attempt did not stop within 200ms of the request, and was abandoned."),
                "\(message)")
            // The job is final before the program is killed.
            await daemon.errors.first(containing: "job 1 attempt 1 halyard: the program \(end)")
            let log = try await bed.halyard("log", "1").output
            #expect(log.split(separator: "\n") == ["halyard: the program \(end)"])
        }
    }

    /// Whether files are cloned in the folder of tests, so that a change of a copy harms nobody.
    private static func clones(_ bed: TestBed) async throws -> Bool {
        let (from, to) = (try bed.folder.write("x", to: "clone"), bed.folder.path + "/cloned")
        return try await ChildProcess.run("cp", ["--reflink=always", from, to]).status == .exited(0)
    }

    private static let makeAndEdit = """
          make:
            kind: program
            program: [/bin/sh, -c, 'printf content > "$1"', sh, "{output}"]
            result: file
          read:
            kind: program
            program: [/bin/cat, dependencies/1]
            result: text

        """

    @Test(.timeLimit(.minutes(2)))
    func aProgramCannotChangeTheFileOfAnotherJobUnnoticed() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        // The program hides the change: it restores the size, the times and the mode.
        let edit = "touch -r $f t; chmod 600 $f; printf CONTENT > $f; chmod 400 $f; touch -r t $f"
        let clones = try await Self.clones(bed)
        try await bed.withDaemon { _ in
            _ = try await apply(
                Self.makeAndEdit + """
                      edit:
                        kind: program
                        program: [/bin/sh, -c, 'f=dependencies/1; \(edit)']
                    """, in: bed)
            try await bed.enqueue("make")
            try await bed.enqueue("edit", "--after", "1")
            try await bed.enqueue("read", "--after", "1", "--after", "2:finished")
            try await bed.waitForAllJobs()
            if clones {
                #expect(try await bed.ask("SELECT value FROM results WHERE job = 3") == #""content""#)
                return
            }
            let failures = try await bed.ask(
                "SELECT error ->> 'code', error ->> 'message' FROM results WHERE job > 1 ORDER BY job")
            let lines = failures.split(separator: "\n")
            #expect(lines.first?.hasPrefix("dependency_changed|") == true, "\(failures)")
            #expect(lines.first?.contains("dependencies/1 (of job 1)") == true, "\(failures)")
            #expect(lines.last?.hasPrefix("dependency_damaged|the file of the dependency 1, ") == true, "\(failures)")
            let result = try await bed.halyard("result", "1", "--file", "-")
            #expect(result.output.isEmpty)
            #expect(result.errors.contains("is damaged, or somebody has changed it"), "\(result.errors)")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aChangeBeforeTheDaemonWasKilledIsNoticed() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        if try await Self.clones(bed) { return }
        let pipe = bed.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let daemon = try bed.launch()
        try await bed.waitUntilReady(daemon)
        _ = try await apply(
            Self.makeAndEdit + """
                  edit:
                    kind: program
                    program: [/bin/sh, -c, "chmod 600 dependencies/1; printf CONTENT > dependencies/1; exec 3> \(pipe); echo on >&3; exec sleep 1000"]
                """, in: bed)
        try await bed.enqueue("make")
        try await bed.enqueue("edit", "--after", "1")
        let lines = Lines.reading(await opened(pipe))
        #expect(await lines.first { $0 == "on" } != nil)
        daemon.signal(SIGKILL)
        _ = await daemon.waitForEnd()
        // The pipe ends with the program.
        await lines.first { _ in false }
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            let codes = try await bed.ask("SELECT error ->> 'code' FROM results WHERE job = 2")
            #expect(codes == "dependency_damaged")
        }
    }

    /// P7: a stop of the daemon ends the program, and the attempt does not count.
    @Test(.timeLimit(.minutes(1)))
    func aStoppedDaemonInterruptsItsPrograms() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots + "drain_timeout: 0s\ngrace: 200ms\n")
        let pipe = bed.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        for start in 1...2 {
            try await bed.withDaemon { daemon in
                if start == 1 {
                    _ = try await apply(
                        """
                          sleep:
                            kind: program
                            program: [/bin/sh, -c, "trap 'exit 0' TERM; exec 3> \(pipe); echo on >&3; while :; do sleep 0.1; done"]
                            retry: {tries: 1}
                        """, in: bed)
                    try await bed.enqueue("sleep")
                }
                let lines = Lines.reading(await opened(pipe))
                #expect(await lines.first { $0 == "on" } != nil)
                daemon.signal(SIGTERM)
                #expect(await daemon.waitForEnd() == .exited(0))
            }
            #expect(try await bed.ask("SELECT state, tries FROM job") == "2|0")
        }
    }

    /// A program must not run on beside the next attempt of its job.
    @Test(.timeLimit(.minutes(1)))
    func programsEndWithAKilledDaemon() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        let pipe = bed.folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        let daemon = try bed.launch()
        try await bed.waitUntilReady(daemon)
        _ = try await apply(
            """
              sleep:
                kind: program
                program: [/bin/sh, -c, "exec 3> \(pipe); echo on >&3; exec sleep 1000"]
            """, in: bed)
        try await bed.enqueue("sleep")
        let lines = Lines.reading(await opened(pipe))
        #expect(await lines.first { $0 == "on" } != nil)
        daemon.signal(SIGKILL)
        _ = await daemon.waitForEnd()
        // The pipe ends with the last process that has it open.
        await lines.first { _ in false }
        #expect(lines.all == ["on"])
    }

    /// Opens a pipe that another process writes, which waits for that process.
    private func opened(_ path: String) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: open(path, O_RDONLY | O_CLOEXEC)) }
        }
    }
}
