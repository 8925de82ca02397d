import Programs
import Testing

/// Reloads after the file of a worker's program was replaced.
@Suite(.timeLimit(.minutes(2))) struct KeptWorkerTests {
    @Test func aReloadKeepsTheProcessesOfAProgramThatCannotRun() async throws {
        let bed = try TestBed()
        let program = try bed.folder.write("exec \(binary("SampleWorker"))\n", to: "worker.sh")
        try bed.configure("workers:\n  sample: {command: [/bin/sh, \(program)], processes: 1}\n")
        let definitions = try bed.folder.write(
            "definitions:\n  act: {kind: act}\n  echo: {kind: echo}\n", to: "own.yaml")
        try await bed.withDaemon { daemon in
            #expect(try await bed.halyard("definitions", "apply", definitions).status == .exited(0))
            let input = try bed.folder.write(#"{"action": "wait", "text": "I wait"}"#, to: "input.json")
            try await bed.enqueue("act", "--input", input)
            await daemon.errors.first(containing: "worker sample stderr: I wait")

            _ = try bed.folder.write("exit 1\n", to: "worker.sh")
            let reloaded = try await bed.halyard("reload")
            #expect(reloaded.status == .exited(69), "\(reloaded)")
            #expect(reloaded.errors.contains("its running processes are kept"), "\(reloaded)")

            // The process that the reload kept runs further jobs.
            #expect(try await bed.halyard("enqueue", "echo", "--wait").status == .exited(0))
            #expect(try await bed.ask("SELECT attempt FROM jobs WHERE job = 2") == "1")
            #expect(try await bed.halyard("cancel", "1").status == .exited(0))
            try await bed.waitForAllJobs()
        }
    }
}
