import Foundation
import Glibc
import PostgresServer
import Programs
import Testing

/// Moves jobs from a file to a server and back, between real daemons.
@Suite(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"), .timeLimit(.minutes(5)))
struct MovingTests {
    private static let roots = "program:\n  roots: [/bin, /usr/bin]\n"
    private static let programs = """
        definitions:
          make:
            kind: program
            program: [/bin/sh, -c, "echo heard >&2; echo content > $0", "{output}"]
            result: file
          copy:
            kind: program
            program: [/bin/cp, --, "{file}", "{output}"]
            fields: {file: {type: string, required: true}}
            result: file
        """

    private func move(
        _ source: String, _ target: String, home: String, expecting status: Int32 = 0
    ) async throws -> (output: String, errors: String) {
        let result = try await ChildProcess.run(
            binary("halyard"), ["move", "--from", source, "--to", target, "--home", home], environment: ["TZ": "UTC"])
        #expect(result.status == .exited(status), "\(result.errors)")
        return (result.output, result.errors)
    }

    @Test func aDaemonOnAServerResumesWhereTheDaemonOnAFileStopped() async throws {
        let bed = try TestBed()
        try bed.configure(Self.roots)
        let server = try #require(PostgresServer.shared)
        let url = try server.makeDatabase()
        let member = try FleetMember("one", of: bed, database: url, Self.roots)
        let definitions = try bed.folder.write(Self.programs, to: "programs.yaml")
        let sent = try bed.folder.write("sent", to: "sent.txt")
        try await bed.withDaemon { _ in
            try #require(try await bed.halyard("definitions", "apply", definitions).status == .exited(0))
            try await bed.enqueue("make")
            try await bed.waitForAllJobs()
            _ = try await bed.halyard("queues", "pause", "default")
            try await bed.enqueue("copy", sent, "--copy", "--key", "once")
            let busy = try await move(bed.database, url, home: member.home, expecting: 75)
            #expect(busy.errors.contains("is in use by process"))
        }
        let moved = try await move(bed.database, url, home: member.home)
        #expect(moved.output.hasPrefix("Moved 2 jobs"))
        #expect(moved.output.contains("  home: \"\(member.home)\""))
        // The former database starts no daemon.
        let old = try bed.launch()
        #expect(await old.waitForEnd() == .exited(78))
        #expect(old.errors.text.contains("were moved to postgresql://"))

        let daemon = try await member.start()
        #expect(try await member.halyard("result", "1", "--file", "-").output == "content")
        #expect(try await member.halyard("log", "1").output.contains("heard"))
        #expect(try await member.halyard("why", "2").output.contains("paused"))
        try await member.halyard("queues", "resume", "default")
        try await member.halyard("wait", "2")
        #expect(try await member.halyard("result", "2", "--file", "-").output == "sent")
        // The key still belongs to the job that was moved.
        #expect(try await member.halyard("enqueue", "copy", sent, "--copy", "--key", "once").output == "2")
        #expect(try await member.halyard("enqueue", "make").output == "3")
        try await member.halyard("wait", "3")
        _ = try await move(url, bed.database, home: member.home, expecting: 75)
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))

        _ = try await move(url, bed.database, home: member.home)
        try await bed.withDaemon { _ in
            #expect(try await bed.halyard("result", "2", "--file", "-").output == "sent")
            #expect(try await bed.halyard("result", "3", "--file", "-").output == "content")
            #expect(try await bed.halyard("log", "3").output.contains("heard"))
            #expect(try await bed.enqueue("make") == "4")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT count(*) FROM results WHERE outcome = 'succeeded'") == "4")
        }
        try server.dropDatabase(url)
    }
}
