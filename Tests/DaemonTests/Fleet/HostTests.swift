import Foundation
import Glibc
import PostgreSQL
import PostgresServer
import Programs
import Testing

/// Jobs that need one host of a fleet, and hosts that take no jobs.
@Suite(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct HostTests {
    let bed: TestBed
    let server: PostgresServer
    let url: String

    init() throws {
        bed = try TestBed()
        server = try #require(PostgresServer.shared)
        url = try server.makeDatabase()
    }

    private func wait(for job: String, through member: FleetMember) async throws {
        let result = try await ChildProcess.run(
            binary("halyard"), ["wait", job], environment: ["HALYARD_SOCKET": member.socket, "TZ": "UTC"])
        #expect(result.status == .exited(0), "\(result.errors)")
    }

    @Test func aDrainedDaemonStartsNothingUntilItIsResumed() async throws {
        let members = [
            try FleetMember("one", of: bed, database: url), try FleetMember("two", of: bed, database: url),
        ]
        // The former daemon of this name had another home.
        let former = try FleetMember("one", of: bed, database: url)
        let ended = try await former.start()
        ended.signal(SIGTERM)
        #expect(await ended.waitForEnd() == .exited(0))
        var daemons = [try await members[0].start(), try await members[1].start()]
        let unknown = try await members[1].halyard("daemons", "drain", "onne", expecting: .exited(66))
        #expect(unknown.errors.contains("\"one\""))
        // Any daemon drains any other.
        try await members[1].halyard("daemons", "drain", "one")
        try await members[0].halyard("daemons", "drain", "two")
        // A restart does not resume it.
        await daemons[0].stop()
        daemons[0] = try await members[0].start()
        let listed = try await members[0].halyard("daemons").output
        #expect(listed.components(separatedBy: "drained").count == 3, "\(listed)")
        let job = try await members[0].halyard("enqueue", "visit", bed.server.site + "/page/1").output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let why = try await members[0].halyard("why", job).output
        #expect(why.contains("every running daemon that serves it is drained"), "\(why)")
        #expect(try await members[0].halyard("status").output.contains("drained since"))
        try await members[0].halyard("daemons", "resume", "two")
        try await wait(for: job, through: members[0])
        for daemon in daemons { await daemon.stop() }
        try server.dropDatabase(url)
    }

    @Test func jobsRunOnlyOnDaemonsThatServeTheirKindsAndQueues() async throws {
        let one = try FleetMember("one", of: bed, database: url, kinds: ["upload"])
        let two = try FleetMember("two", of: bed, database: url)
        let first = try await one.start()
        // The definition can be used, although no running daemon serves its kind.
        let job = try await one.halyard("enqueue", "visit", bed.server.site + "/page/1").output
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let why = try await one.halyard("why", job).output
        #expect(why.contains("no running daemon serves kind unfurl; see: halyard daemons"), "\(why)")
        let waiting = try Connection(to: url).run("SELECT reason FROM halyard.waiting")[0].string(0)
        #expect(waiting == "no running daemon serves kind unfurl")
        let second = try await two.start()
        try await wait(for: job, through: one)
        let kinds = try Connection(to: url).run("SELECT kinds FROM halyard.daemons ORDER BY name").map { $0.string(0) }
        #expect(kinds == ["upload", "enrich, program, unfurl, upload"])
        #expect(try await two.halyard("daemons").output.contains("enrich, program, unfurl, upload"))
        for daemon in [first, second] { await daemon.stop() }
        try server.dropDatabase(url)
    }

    @Test func aSentFileIsReadByTheDaemonThatReceivedIt() async throws {
        let one = try FleetMember("one", of: bed, database: url)
        let two = try FleetMember("two", of: bed, database: url)
        var daemons = [try await one.start(), try await two.start()]
        // The job waits, since only this daemon has its file.
        try await two.halyard("daemons", "drain", "one")
        let path = try bed.folder.write("a photo", to: "photo.jpg")
        try await one.halyard(
            "upload", path, "--copy", "--definition", "send", "--to", bed.server.site + "/inbox/photo")
        let job = try Connection(to: url).run("SELECT job FROM halyard.waiting")[0].string(0)
        var why = try await two.halyard("why", job).output
        #expect(why.contains("waits for the daemon one, which has its file and is drained"), "\(why)")
        #expect(try await two.halyard("show", job).output.contains("the daemon one, which has its file"))
        daemons[0].signal(SIGTERM)
        #expect(await daemons[0].waitForEnd() == .exited(0))
        why = try await two.halyard("why", job).output
        #expect(why.contains("waits for the daemon one, which has its file and ended"), "\(why)")
        try await two.halyard("daemons", "resume", "one")
        daemons[0] = try await one.start()
        try await wait(for: job, through: two)
        #expect(try Connection(to: url).run("SELECT outcome FROM halyard.results")[0].string(0) == "succeeded")
        for daemon in daemons { await daemon.stop() }
        try server.dropDatabase(url)
    }
}
