import Foundation
import Glibc
import Jobs
import Programs
import Testing

/// Jobs that resume at their checkpoints, with the real programs.
@Suite(.serialized) struct CheckpointTests {
    private static let hasPython = access("/usr/bin/python3", X_OK) == 0

    /// The process that is killed in the middle of an attempt.
    enum Victim: CaseIterable { case worker, daemon }

    @Test(
        .enabled(if: Self.hasPython, "there is no /usr/bin/python3"), .timeLimit(.minutes(2)),
        arguments: Victim.allCases)
    func aKilledAttemptResumesAtItsCheckpoint(_ victim: Victim) async throws {
        let bed = try TestBed()
        try bed.configure(
            "workers:\n  words: {command: [/usr/bin/python3, \(repository)/config/examples/workers/count-words.py]}\n")
        let first = try bed.folder.write("one two three", to: "first.txt")
        let second = bed.folder.path + "/second.txt"
        try #require(mkfifo(second, 0o600) == 0)
        let input = try bed.folder.write(#"{"paths":["\#(first)","\#(second)"]}"#, to: "input.json")
        let document = try bed.folder.write(
            "definitions:\n  count-files: {kind: count-files, retry: {tries: 1}}\n", to: "own.yaml")
        var writer: Int32 = -1
        defer { close(writer) }
        try await bed.withDaemon { daemon in
            let applied = try await bed.halyard("definitions", "apply", document)
            try #require(applied.status == .exited(0), "\(applied.errors)")
            try await bed.enqueue("count-files", "--input", input)
            // The attempt opens the second file when the checkpoint after the first one is saved, and then waits.
            writer = await openedByAReader(second)
            let shown = try await bed.halyard("show", "1").output
            #expect(shown.contains("checkpoint  attempt 1, 20 B, "), "\(shown)")
            let detail = try await detail(of: "1", in: bed)
            let checkpoint = try #require(detail["checkpoint"].flatMap(JSONObject.init))
            #expect(checkpoint["value"]?.string == #"{"done":1,"words":3}"#)
            // Nobody reads the first file again.
            try bed.folder.write("", to: "first.txt")
            unlink(second)
            try bed.folder.write("four five", to: "second.txt")
            switch victim {
            case .daemon:
                daemon.signal(SIGKILL)
                #expect(await daemon.waitForEnd() == .killed(by: SIGKILL))
            case .worker:
                kill(try await workerProcess(in: bed), SIGKILL)
                try await bed.waitForAllJobs()
            }
        }
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            #expect(try await bed.halyard("result", "1").output == #"{"words":5,"files":2}"#)
            #expect(try await bed.ask("SELECT attempt FROM jobs WHERE job = 1") == "2")
            #expect(try await bed.ask("SELECT count(*) FROM checkpoint") == "0")
            #expect(try await detail(of: "1", in: bed)["checkpoint"] == nil)
        }
    }

    /// Opens a FIFO for writing, which another process is about to open for reading.
    private func openedByAReader(_ path: String) async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: open(path, O_WRONLY | O_CLOEXEC)) }
        }
    }

    private func detail(of job: String, in bed: TestBed) async throws -> JSONObject {
        let output = try await bed.halyard("show", job, "--json").output
        return try #require(JSONObject(try JSONText(checking: Array(output.utf8))))
    }

    /// The process of the worker `words`.
    private func workerProcess(in bed: TestBed) async throws -> pid_t {
        let output = try await bed.halyard("workers", "--json").output
        let workers = try JSONText(checking: Array(output.utf8)).elements ?? []
        let worker = try #require(workers.compactMap(JSONObject.init).first { $0["name"]?.decodedString == "words" })
        let process = try #require(worker["processes"]?.elements?.first.flatMap(JSONObject.init))
        return pid_t(try #require(process["pid"]?.integer))
    }
}
