import Glibc
import Programs
import Testing

/// P14: whatever a web server answers, it ends only the attempt that contacted it.
@Suite(.serialized) struct HostileServerTests {
    private static let definitions = """
        queues:
          network: {limit: 8}
        definitions:
          visit: {kind: unfurl, queue: network, retry: {tries: 1}}
          send: {kind: upload, queue: network, retry: {tries: 1}}
          describe: {kind: enrich, queue: network, retry: {tries: 1}}
        """

    @Test(.timeLimit(.minutes(2)), arguments: ["000", "001", "042", "098", "099"])
    func statusThatHTTPDoesNotHaveEndsOneAttempt(status: String) async throws {
        let bed = try TestBed()
        try bed.folder.write(Self.definitions, to: "definitions.yaml")
        try await bed.withDaemon { daemon in
            // Other jobs that run throughout the test.
            try await bed.enqueueVisits(["/gate/1", "/gate/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            await bed.server.requests.first { $0.hasSuffix("/gate/2") }
            let place = "\(bed.server.site)/status/\(status)"
            let jobs = [
                try await bed.enqueue("visit", "--set", "url=\(place)/visit"),
                try await bed.enqueue("send", "--set", "to=\(place)/send", "--set", "body=x"),
                try await bed.enqueue("describe", "--set", "url=\(place)/describe"),
            ]
            for job in jobs { #expect(try await bed.halyard("wait", job).status == .exited(1)) }
            bed.server.openGate()
            try await bed.waitForAllJobs()
            let codes = try await bed.ask("SELECT outcome, code FROM result ORDER BY job_id")
            #expect(codes == "4|\n4|" + String(repeating: "\n5|protocol_error", count: 3))
            // One process ran all jobs.
            #expect(try await bed.ask("SELECT count(*), max(attempt) FROM job") == "5|1")
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
    }
}
