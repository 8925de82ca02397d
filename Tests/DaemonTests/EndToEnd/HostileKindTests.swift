import Foundation
import Glibc
import Jobs
import Programs
import Testing

/// Kinds that harm their own process, in real workers of the real daemon. Each ends one attempt and nothing else (P14).
@Suite(.serialized) struct HostileKindTests {
    /// A worker with the kinds `harm` and `echo`, whose crashes count at once.
    private static func configuration(_ more: String = "", maxRescues: Int = 0) -> String {
        """
        max_rescues: \(maxRescues)
        grace: 200ms
        workers:
          hostile: {command: [\(binary("SampleWorker")), hostile], attempts: 128, limits: {\(more)}}

        """
    }

    private func apply(_ bed: TestBed) async throws {
        try await apply(
            """
            queues: {many: {limit: 200}}
            definitions:
              harm: {kind: harm, queue: many, retry: {tries: 1}}
              harm-shortly: {kind: harm, queue: many, timeout: 2s, retry: {tries: 1}}
              echo: {kind: echo, queue: many, retry: {tries: 1}}
            """, in: bed)
    }

    private func apply(_ document: String, in bed: TestBed) async throws {
        let applied = try await bed.halyard(
            "definitions", "apply", try bed.folder.write(document, to: "hostile.yaml"))
        try #require(applied.status == .exited(0), "\(applied.errors)")
    }

    /// Enqueues jobs of one definition with the same input.
    private func enqueue(_ bed: TestBed, _ definition: String, _ input: String = "{}", count: Int = 1) async throws {
        let line = #"{"definition": "\#(definition)", "input": \#(input)}"# + "\n"
        try await bed.enqueue("--lines", try bed.folder.write(String(repeating: line, count: count), to: "lines.jsonl"))
    }

    struct Harmful: Sendable, CustomTestStringConvertible {
        var action: String
        var number = 0
        var limits = ""
        var definition = "harm"
        var code = "crashed"
        var testDescription: String { action }
    }

    private static let harms = [
        Harmful(action: "trap"), Harmful(action: "segfault"), Harmful(action: "exit"),
        // 10 GB, within a limit that the test machine can afford.
        Harmful(action: "memory", number: 10_240, limits: "memory: 256MiB"),
        Harmful(action: "descriptors", number: 100_000, code: "no_descriptor"),
        // An endless loop, and a process that a signal has stopped, end with the timeout.
        Harmful(action: "loop", definition: "harm-shortly", code: "timed_out"),
        Harmful(action: "stop", definition: "harm-shortly", code: "timed_out"),
    ]

    @Test(.timeLimit(.minutes(3)), arguments: harms)
    func harmEndsOneAttemptAndNothingElse(_ harm: Harmful) async throws {
        let bed = try TestBed()
        try bed.configure(Self.configuration(harm.limits))
        try await bed.withDaemon { daemon in
            try await apply(bed)
            try await enqueue(bed, "echo", count: 5)
            try await bed.waitForAllJobs()
            try await enqueue(bed, harm.definition, #"{"action": "\#(harm.action)", "number": \#(harm.number)}"#)
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            try await bed.waitForAllJobs()
            try await enqueue(bed, "echo", count: 5)
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT error ->> 'code' FROM jobs WHERE job = 6") == harm.code)
            #expect(
                try await bed.ask("SELECT count(*) FROM jobs WHERE state = 'succeeded' AND tries LIKE '1 of %'") == "11"
            )
            #expect(kill(daemon.pid, 0) == 0)
        }
    }

    /// A worker in sh, since the protocol's stream cannot be reached from a kind in Swift.
    private static let rude = #"""
        read -r line
        echo '{"type":"kinds","protocol":1,"kinds":[{"name":"rude","summary":"Breaks the protocol"}]}'
        while read -r line; do
            case $line in
            '{"type":"run",'*)
                rest=${line#*'"job":'} job=${rest%%[,\}]*}
                rest=${line#*'"attempt":'} lease="\"job\":$job,\"attempt\":${rest%%[,\}]*}"
                echo "{\"type\":\"started\",\"attempts\":[{$lease}]}"
                case $line in
                *'"garbage"'*) echo garbage ;;
                *'"foreign"'*) echo '{"type":"succeeded","job":1,"attempt":1,"output":"forged"}' ;;
                *'"flood"'*) head -c 3000000 /dev/zero ;;
                *'"close"'*) exec 1>&- ; sleep 1000 ;;
                *) echo "{\"type\":\"succeeded\",$lease,\"output\":\"fine\"}" ;;
                esac ;;
            '{"type":"ping",'*) rest=${line#*'"id":'}; echo "{\"type\":\"pong\",\"id\":${rest%%[,\}]*}}" ;;
            '{"type":"drain"'*) exit 0 ;;
            esac
        done
        """#

    @Test(.timeLimit(.minutes(3)), arguments: ["garbage", "foreign", "flood", "close"])
    func rudenessEndsOneAttemptAndNothingElse(action: String) async throws {
        let bed = try TestBed()
        try bed.folder.write(Self.rude, to: "rude.sh")
        try bed.configure(
            "max_rescues: 0\nworkers:\n  rude: {command: [/bin/sh, \(bed.folder.path)/rude.sh], attempts: 64}\n")
        try await bed.withDaemon { daemon in
            try await apply(
                "queues: {many: {limit: 200}}\ndefinitions: {rude: {kind: rude, queue: many, retry: {tries: 1}}}\n",
                in: bed)
            // The first is the job for which the worker forges an answer.
            try await enqueue(bed, "rude", count: 10)
            try await enqueue(bed, "rude", #"{"action": "\#(action)"}"#)
            try await enqueue(bed, "rude", count: 10)
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT error ->> 'code' FROM jobs WHERE job = 11") == "crashed")
            #expect(try await bed.ask("SELECT count(*) FROM results WHERE value = '\"fine\"'") == "20")
            #expect(
                try await bed.ask("SELECT count(*) FROM jobs WHERE state = 'succeeded' AND tries LIKE '1 of %'") == "20"
            )
            #expect(kill(daemon.pid, 0) == 0)
        }
    }

    /// Starts jobs that hold until a file exists, and waits until all of them have begun.
    ///
    /// - Returns: The creation of the file.
    private func hold(_ bed: TestBed, count: Int) async throws -> () throws -> Void {
        let pipe = bed.folder.path + "/go.pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        // Open for writing as well, so that it does not end when the first job closes it.
        let lines = Lines.reading(open(pipe, O_RDWR | O_CLOEXEC))
        try await enqueue(bed, "harm", #"{"action": "hold", "path": "\#(bed.folder.path)/go"}"#, count: count)
        var index = 0
        for _ in 1...count {
            let held = await lines.first(from: index, containing: "holding")
            index = try #require(held).index + 1
        }
        return { try bed.folder.write("", to: "go") }
    }

    @Test(.timeLimit(.minutes(5)))
    func aHundredInnocentJobsBesideATrapSucceedOnTheirOwnTries() async throws {
        let bed = try TestBed()
        try bed.configure(Self.configuration(maxRescues: 1))
        try await bed.withDaemon { daemon in
            try await apply(bed)
            let letGo = try await hold(bed, count: 100)
            try await enqueue(bed, "harm", #"{"action": "trap"}"#)
            await daemon.errors.first(containing: "a test asked for this")
            try letGo()
            try await bed.waitForAllJobs()
            // No job lost a try, although each had only one.
            let innocent = "SELECT count(*) FROM jobs WHERE job <= 100 AND state = 'succeeded' AND tries LIKE '1 of %'"
            #expect(try await bed.ask(innocent) == "100")
            #expect(try await bed.ask("SELECT state, error ->> 'code' FROM jobs WHERE job = 101") == "failed|crashed")
            // The guilty one crashed once beside the others, and alone until its limit was exceeded.
            #expect(try await bed.ask("SELECT count(*) FROM attempts WHERE job = 101") == "3")
            // Each innocent one ran at most once more.
            #expect(try await bed.ask("SELECT max(attempt) FROM jobs WHERE job <= 100") == "2")
        }
    }

    @Test(.timeLimit(.minutes(3)))
    func aKilledWorkerCostsNoJobATry() async throws {
        let bed = try TestBed()
        try bed.configure(Self.configuration())
        try await bed.withDaemon { _ in
            try await apply(bed)
            let letGo = try await hold(bed, count: 5)
            let list = try JSONText(checking: Array(try await bed.halyard("workers", "--json").output.utf8))
            let hostile = list.elements?.compactMap(JSONObject.init).first { $0["name"]?.decodedString == "hostile" }
            let processes = hostile?["processes"]?.elements?.compactMap { JSONObject($0)?["pid"]?.integer } ?? []
            #expect(processes.count == 1)
            for pid in processes { kill(pid_t(pid), SIGKILL) }
            try letGo()
            try await bed.waitForAllJobs()
            #expect(
                try await bed.ask("SELECT count(*) FROM jobs WHERE state = 'succeeded' AND tries LIKE '1 of %'") == "5")
        }
    }

    // MARK: Limits

    @Test(.timeLimit(.minutes(1)))
    func workersHaveLimits() async throws {
        let bed = try TestBed()
        try bed.configure(
            "workers:\n  hostile: {command: [\(binary("SampleWorker")), hostile], limits: {descriptors: 77}}\n")
        try await bed.withDaemon { _ in
            try await apply(bed)
            try await bed.enqueue("echo", "--wait")
            try await bed.enqueue("visit", "\(bed.server.site)/page/1", "--wait")
            let list = try JSONText(checking: Array(try await bed.halyard("workers", "--json").output.utf8))
            var found: [String: String] = [:]
            for worker in list.elements?.compactMap(JSONObject.init) ?? [] {
                let process = worker["processes"]?.elements?.first.flatMap(JSONObject.init)
                let pid = try #require(process?["pid"]?.integer)
                found[worker["name"]?.decodedString ?? ""] = try String(
                    contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
            }
            func value(_ limit: String, of worker: String) -> String? {
                found[worker]?.split(separator: "\n").first { $0.hasPrefix(limit) }?.dropFirst(26)
                    .split(separator: " ").first.map(String.init)
            }
            #expect(value("Max open files", of: "hostile") == "77")
            #expect(value("Max open files", of: "halyard-worker") == "1024")
            for worker in ["hostile", "halyard-worker"] {
                #expect(value("Max data size", of: worker) == "\(4 << 30)")
                #expect(Int(value("Max processes", of: worker) ?? "") ?? 0 >= 4096, "\(found)")
            }
        }
    }

    /// The number of processes with this variable in their environment.
    private func count(marked mark: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").count { name in
            // A process may end at any time.
            guard pid_t(name) != nil,
                let file = try? FileHandle(forReadingFrom: URL(filePath: "/proc/\(name)/environ")),
                let bytes = try? file.readToEnd()
            else { return false }
            return String(decoding: bytes, as: UTF8.self).contains("MARK=\(mark)")
        }
    }

    /// A user without processes, for whom a limit of processes counts. It does not apply to root. Other runs of the tests at
    /// the same time have other users, since the processes of all of them count.
    private static let user = "\(60_200 + Int(getpid()) % 5000)"

    @Test(
        .enabled(
            if: geteuid() != 0 || access("/usr/bin/setpriv", X_OK) == 0, "root needs setpriv to become another user"),
        .timeLimit(.minutes(3)))
    func aWorkerThatStartsProcessesWithoutEndIsBounded() async throws {
        let bed = try TestBed()
        try bed.configure(Self.configuration("processes: 200"))
        var command = [binary("halyardd"), "--config", bed.configuration]
        if geteuid() == 0 {
            command = ["/usr/bin/setpriv", "--reuid", Self.user, "--regid", Self.user, "--clear-groups"] + command
            let owned = try await ChildProcess.run("chown", ["-R", "\(Self.user):\(Self.user)", bed.folder.path])
            try #require(owned.status == .exited(0), "\(owned.errors)")
        }
        let daemon = try bed.spawn(
            command[0], Array(command.dropFirst()),
            environment: ["NOTIFY_SOCKET": bed.notifications.address, "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no"])
        try await bed.waitUntilReady(daemon)
        try await apply(bed)
        let input = #"{"action": "processes", "number": 100000, "path": "\#(bed.folder.path)"}"#
        try await enqueue(bed, "harm", input)
        try await enqueue(bed, "echo", count: 10)
        try await bed.waitForAllJobs()
        #expect(try await bed.ask("SELECT error ->> 'code' FROM jobs WHERE job = 1") == "crashed")
        #expect(
            try await bed.ask("SELECT count(*) FROM jobs WHERE state = 'succeeded' AND tries LIKE '1 of %'") == "10")
        let shown = try await bed.halyard("show", "1").output
        #expect(shown.contains("counted crashes  "), "\(shown)")
        #expect(shown.contains(" 1 of at most 0") && shown.contains("halyard retry 1"), "\(shown)")
        let line = try #require(await daemon.errors.first(containing: "worker hostile stderr: started ")).line
        let started = line.split(separator: " ").compactMap { Int($0) }.last
        #expect((1...200).contains(started ?? 0), "\(line)")
        await daemon.stop()
        // All of them ended with their worker.
        #expect(try count(marked: bed.folder.path) == 0)
    }
}
