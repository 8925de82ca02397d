import Foundation
import Glibc
import Jobs
import OperationTypes
import Programs
import Synchronization
import Testing

@testable import ProgramKind

/// The surroundings of a program, and how its end becomes the end of the attempt.
@Suite struct RunningTests {
    let bench: Bench

    init() throws { bench = try Bench() }

    @Test func eachValueIsOneArgumentWhateverItContains() async throws {
        let script = Bench.script(#"for a; do printf '[%s]' "$a"; done"#, #","result":"text""#)
        let end = try await bench.run(script, input: #"{"a":"a b' \"$(id)\n;`x`","b":"{a}*"}"#)
        #expect(end.output == JSONText(string: "[a b' \"$(id)\n;`x`][{a}*]").string)
        // An argument without a value is left out.
        #expect(try await bench.run(script, input: #"{"b":""}"#).output == #""[]""#)
    }

    @Test func aValueThatLooksLikeAnOptionFailsTheAttempt() async throws {
        let end = try await bench.run(Bench.script(":"), input: #"{"a":"-c"}"#)
        #expect(end.code == "invalid_input")
        #expect(end.failure?.isRetryable == false)
        #expect(end.failure?.failure.message.contains("put \"--\"") == true)
    }

    @Test func theUsedResourcesAreReported() async throws {
        let attempt = try bench.start(Bench.script("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
        _ = await attempt.ended.uncancellableWait()
        let usage = attempt.usage.withLock(\.self)
        #expect(usage?.processorTime ?? .zero > .milliseconds(1))
        // It needs less than this process, so the kernel's figure does not tell how much.
        #expect(usage?.peakMemory == nil)
        let large = try bench.start(#""program":["/bin/dd","if=/dev/zero","of=/dev/null","bs=1G","count=1"]"#)
        _ = await large.ended.uncancellableWait()
        #expect(large.usage.withLock(\.self)?.peakMemory ?? 0 > 1 << 29)
    }

    @Test func theEnvironmentIsClean() async throws {
        setenv("HALYARD_TEST_SECRET", "x", 1)
        let attempt = try bench.start(
            #""program":["/usr/bin/env"],"result":"lines","environment":{"A":"1","LANG":"C"}"#)
        let output = await attempt.ended.uncancellableWait().output
        let lines = try JSONDecoder().decode([String].self, from: Data((output ?? "").utf8))
        let folder = "\(bench.work)/\(attempt.lease.job)-1"
        #expect(
            lines.sorted() == [
                "A=1", "HALYARD_ATTEMPT=1", "HALYARD_JOB=\(attempt.lease.job)",
                "HALYARD_PROGRAM=/usr/bin/env", "HOME=\(folder)", "LANG=C",
                "NOTIFY_SOCKET=\(folder)/.notify", "PATH=/usr/local/bin:/usr/bin:/bin", "TMPDIR=\(folder)",
            ])
    }

    @Test func theWorkFolderIsPrivateAndRemoved() async throws {
        let end = try await bench.run(
            Bench.script("stat -c %a . && pwd && mkdir -p x/y && touch x/y/z && chmod 0 x", #","result":"lines""#))
        #expect(end.output == #"["700","\#(bench.work)/1-1"]"#)
        await bench.host.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.work) == [])
    }

    @Test func onlyTheStandardDescriptorsAreOpen() async throws {
        let end = try await bench.run(#""program":["/bin/ls","/proc/self/fd"],"result":"lines""#)
        // The last one is the listing itself.
        #expect(end.output == #"["0","1","2","3"]"#)
    }

    @Test func standardInputIsTheInputWithDefaultsAndDependencies() async throws {
        let fields = #""program":["/bin/cat"],"result":"json","fields":{"a":{"default":"x"},"n":{"type":"object"}}"#
        #expect(try await bench.run(fields, input: #"{"n":{"b":1}}"#).output == #"{"n":{"b":1},"a":"x"}"#)
        let output = DependencyOutput(
            dependency: JobID(9), kind: "unfurl", output: JSONText(trusted: Array("[1]".utf8)))
        #expect(
            try await bench.run(fields, dependencies: [output]).output
                == #"{"a":"x","dependencies":[{"job":9,"kind":"unfurl","output":[1]}]}"#)
        let none = #""program":["/bin/cat"],"stdin":"none","result":"text""#
        #expect(try await bench.run(none).output == #""""#)
    }

    @Test func aLargeInputNeedsNoReader() async throws {
        let input = #"{"x":"\#(String(repeating: "y", count: 1 << 20))"}"#
        #expect(try await bench.run(#""program":["/bin/true"]"#, input: input).output == "null")
        let count = try await bench.run(#""program":["/usr/bin/wc","-c"],"result":"text""#, input: input)
        #expect(count.output == #""\#(input.utf8.count)""#)
    }

    // MARK: Results

    @Test(arguments: [
        ("text", #"printf 'a\nb\n'"#, #""a\nb""#), ("lines", #"printf 'a\r\nb'"#, #"["a\r","b"]"#),
        ("lines", "true", "[]"), ("lines", #"printf '\n\n'"#, #"["",""]"#), ("text", "true", #""""#),
        ("json", #"echo ' {"a": 1} '"#, " {\"a\": 1} \n"), ("none", "echo x", "null"),
    ])
    func standardOutputIsTheResult(_ form: String, _ script: String, _ expected: String) async throws {
        #expect(try await bench.run(Bench.script(script, #","result":"\#(form)""#)).output == expected)
    }

    @Test(arguments: [
        ("json", "echo x"), ("json", "true"), ("text", #"printf '\377'"#), ("text", #"printf 'a\0b'"#),
        ("lines", #"printf '\0'"#),
    ])
    func outputThatIsNotWhatTheDefinitionSaysFails(_ form: String, _ script: String) async throws {
        let end = try await bench.run(Bench.script(script, #","result":"\#(form)""#))
        #expect(end.code == "invalid_output")
        #expect(end.failure?.isRetryable == false)
    }

    @Test func outputWithoutEndIsStopped() async throws {
        let end = try await bench.run(#""program":["/usr/bin/yes"],"result":"text","limits":{"output":"64KiB"}"#)
        #expect(end.code == "output_too_large")
        #expect(end.failure?.failure.message.contains("64KiB") == true)
    }

    @Test func aFileWithoutEndIsStopped() async throws {
        let end = try await bench.run(
            #""program":["/usr/bin/dd","if=/dev/zero","of={output}","bs=64k"],"result":"file","limits":{"file":"1MiB"}"#
        )
        #expect(end.code == "output_too_large" || end.code == "exit_1")
    }

    @Test func aFileIsKept() async throws {
        let program = #""program":["/bin/sh","-c","echo x > \"$1\"","sh","{output}"],"result":"file""#
        let end = try await bench.run(program)
        #expect(
            end.output == #"{"file":"output","size":2,"sha256":"","path":"\#(bench.folder)/kept-1-1"}"#)
        #expect(try String(contentsOfFile: "\(bench.folder)/kept-1-1", encoding: .utf8) == "x\n")
    }

    @Test func theFileOfADependencyIsLinked() async throws {
        let first = #""program":["/bin/sh","-c","echo x > \"$1\"","sh","{output}"],"result":"file""#
        let output = try #require(try await bench.run(first).output)
        func dependency(_ job: Int64, attempt: Int = 1, node: String? = nil, _ output: String) -> DependencyOutput {
            DependencyOutput(
                dependency: JobID(job), attempt: attempt, node: node, kind: "program",
                output: JSONText(trusted: Array(output.utf8)))
        }
        // A result that only claims to be a file is not followed, and neither is the file of another attempt.
        let claim = #"{"file":"output","size":1,"sha256":"","path":"/etc/passwd"}"#
        let end = try await bench.run(
            #""program":["/bin/sh","-c","cd dependencies; ls; cat 2 page"],"result":"lines""#,
            dependencies: [
                dependency(77, claim), dependency(1, output), dependency(1, attempt: 2, node: "old", output),
                dependency(1, node: "page", output), dependency(1, node: "page", output),
            ])
        #expect(end.output == #"["2","5","page","x","x"]"#)
        let input = try await bench.run(
            #""program":["/bin/cat"],"result":"json""#, dependencies: [dependency(1, node: "page", "1")])
        #expect(
            input.output
                == #"{"dependencies":[{"job":1,"node":"page","kind":"program","output":1,"file":"dependencies/page"}]}"#
        )
    }

    /// Only a child of the program meets the limit.
    @Test(arguments: ["exit 0", "exit 5"]) func aFileThatReachedItsLimitFails(_ ending: String) async throws {
        let script = "head -c 3000000 /dev/zero > \\\"$1\\\"; \(ending)"
        let program =
            #""program":["/bin/sh","-c","\#(script)","sh","{output}"],"result":"file","limits":{"file":"1MiB"}"#
        #expect(try await bench.run(program).code == "output_too_large")
    }

    @Test func aMissingFileFails() async throws {
        #expect(try await bench.run(#""program":["/bin/true","{output}"],"result":"file""#).code == "no_output")
    }

    @Test func memoryIsLimited() async throws {
        let program = #""program":["/bin/dd","if=/dev/zero","of=/dev/null","bs=300M","count=1"]"#
        #expect(try await bench.run(program).output == "null")
        let code = try await bench.run(program + #","limits":{"memory":"64MiB"}"#).code
        // The program itself finds that it gets no memory if it has no cgroup.
        #expect(code == "exit_1" || code == "out_of_memory")
    }

    @Test func processesAreLimitedWithoutACgroupOnlyIfTheDefinitionSaysSo() async throws {
        let program = #""program":["/usr/bin/grep","Max processes","/proc/self/limits"],"result":"text""#
        let own = try await ChildProcess.run("grep", ["Max processes", "/proc/self/limits"])
        let line = JSONText(string: String(try #require(own.output.split(separator: "\n").first))).string
        #expect(try await bench.run(program).output == line)
        let limited = try await bench.run(program + #","limits":{"processes":3}"#).output
        #expect(limited != nil)
        #expect(limited != line)
    }

    /// Each line break becomes three bytes of JSON.
    @Test(
        arguments: [(300_000, nil), (400_000, "output_too_large"), (1 << 20, "output_too_large")] as [(Int, String?)])
    func emptyLinesCountAsJSON(_ count: Int, _ code: String?) async throws {
        let end = try await bench.run(
            #""program":["/bin/sh","-c","yes '' | head -n \#(count)"],"result":"lines""#)
        #expect(end.code == code)
        if code == nil { #expect(end.output?.utf8.count == 3 * count + 1) }
    }

    // MARK: The log

    @Test func standardErrorIsTheLogAndOutputToo() async throws {
        let attempt = try bench.start(Bench.script("echo a; echo b >&2; echo c"))
        _ = await attempt.ended.uncancellableWait()
        let log = try #require(bench.files.log(of: attempt))
        await log.isFinished.uncancellableWait()
        #expect(log.text == "a\nb\nc\n")
        let result = try bench.start(Bench.script("echo a; echo b >&2", #","result":"text""#))
        #expect(await result.ended.uncancellableWait().output == #""a""#)
        #expect(bench.files.log(of: result)?.text == "b\n")
    }

    // MARK: Ends

    @Test(arguments: [
        (1, "exit_1", false), (2, "bad_image", false), (74, "busy", true), (75, "exit_75", true),
        (255, "exit_255", false),
    ])
    func anExitCodeHasTheMeaningOfTheDefinition(_ exit: Int, _ code: String, _ isRetryable: Bool) async throws {
        let exits = #","exit":{"2":{"fail":"bad_image"},"3":"succeed","74":{"retry":"busy"},"75":"retry"}"#
        let end = try await bench.run(Bench.script("echo last >&2; exit \(exit)", exits))
        #expect(end.code == code)
        #expect(end.failure?.isRetryable == isRetryable)
        #expect(end.failure?.failure.detail?.string == #"{"exit":\#(exit),"log":["last"]}"#)
        #expect(try await bench.run(Bench.script("exit 3", exits)).output == "null")
    }

    @Test(arguments: [("SEGV", false), ("KILL", true), ("TERM", true)])
    func aSignalIsNamed(_ signal: String, _ isRetryable: Bool) async throws {
        let end = try await bench.run(Bench.script("kill -\(signal) $$"))
        #expect(end.code == "killed_by_sig\(signal.lowercased())")
        #expect(end.failure?.isRetryable == isRetryable)
        #expect(end.failure?.failure.detail?.string == #"{"signal":"SIG\#(signal)"}"#)
    }

    @Test func aProgramThatIsStoppedHasNotSucceeded() async throws {
        let attempt = try bench.start(Bench.script("trap 'exit 0' TERM; echo on >&2; while :; do sleep 0.1; done"))
        await attempt.began.uncancellableWait()
        await bench.files.log(of: attempt)?.hasText.uncancellableWait()
        attempt.stop()
        #expect(await attempt.ended.uncancellableWait().code == "stopped")
    }

    @Test func aProgramThatIgnoresTheRequestIsKilledWithItsTree() async throws {
        let attempt = try bench.start(
            Bench.script("trap '' TERM; (trap '' TERM; exec setsid sleep 1000) & echo $! >&2; wait; sleep 1000"))
        let log = try await log(of: attempt)
        let child = try #require(pid_t(log.text.split(separator: "\n")[0]))
        attempt.stop()
        attempt.abandon()
        #expect(await attempt.ended.uncancellableWait().code == "stopped")
        #expect(kill(child, 0) != 0)
    }

    @Test func aDaemonizedChildEndsWithTheAttempt() async throws {
        let end = try await bench.run(
            Bench.script("setsid sleep 1000 > /dev/null 2>&1 & echo $!", #","result":"text""#))
        let child = try #require(end.output.flatMap { pid_t($0.dropFirst().dropLast()) })
        #expect(kill(child, 0) != 0)
    }

    @Test func aProgramThatForksWithoutEndIsEnded() async throws {
        let attempt = try bench.start(Bench.script("while :; do echo x >&2; setsid sleep 1000 & sleep 0.01; done"))
        _ = try await log(of: attempt)
        attempt.abandon()
        #expect(await attempt.ended.uncancellableWait().code == "stopped")
    }

    @Test func aStopBeforeTheLaunchIsNotLost() async throws {
        for _ in 0..<20 {
            let attempt = try bench.start(Bench.script("sleep 1000"))
            attempt.abandon()
            let end = await attempt.ended.uncancellableWait()
            #expect(end == .notRun || end.code == "stopped")
        }
    }

    /// Reading a large file takes long, so the attempt may be given up in the meantime.
    @Test func theFileOfAnAttemptThatIsAbandonedMeanwhileIsRemoved() async throws {
        let host = bench.host
        bench.files.onKeep.withLock { $0 = { host.abandon(Lease(job: JobID(1), attempt: 1), after: .seconds(5)) } }
        let end = try await bench.run(
            #""program":["/bin/sh","-c","echo x > \"$1\"","sh","{output}"],"result":"file""#)
        #expect(end.code == "stopped")
        #expect(access(bench.folder + "/kept-1-1", F_OK) != 0)
    }

    private func log(of attempt: Attempt) async throws -> MemoryFiles.Log {
        await attempt.began.uncancellableWait()
        let log = try #require(bench.files.log(of: attempt))
        await log.hasText.uncancellableWait()
        return log
    }

    // MARK: Progress

    @Test(.enabled(if: access("/usr/bin/systemd-notify", X_OK) == 0))
    func aShellScriptReportsProgress() async throws {
        let attempt = try bench.start(
            Bench.script("systemd-notify --status='half done' X_PROGRESS=0.5 && systemd-notify X_PROGRESS=1"))
        // The client would fail after five seconds without an answer to its barrier.
        #expect(await attempt.ended.uncancellableWait().output == "null")
        #expect(attempt.progress.withLock(\.self).map(\.completed) == [50, 100])
        #expect(bench.files.log(of: attempt)?.text.contains("status: half done\n") == true)
    }

    @Test func manyAttemptsRunAtOnce() async throws {
        let attempts = try (0..<64).map { _ in try bench.start(Bench.script("sleep 0.2; echo x", #","result":"text""#))
        }
        for attempt in attempts { #expect(await attempt.ended.uncancellableWait().output == #""x""#) }
    }
}
