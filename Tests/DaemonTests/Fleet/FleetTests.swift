import Foundation
import JobFiles
import Jobs
import PostgreSQL
import PostgresServer
import Programs
import Testing

/// Real daemons that share a database of a real PostgreSQL server.
@Suite(.enabled(if: PostgresServer.shared != nil, "PostgreSQL is not installed"), .serialized, .timeLimit(.minutes(5)))
struct FleetTests {
    let bed: TestBed
    let server: PostgresServer
    let url: String

    init() throws {
        bed = try TestBed()
        server = try #require(PostgresServer.shared)
        url = try server.makeDatabase()
    }

    private func ask(_ query: String) throws -> [String] {
        let rows = try Connection(to: url).run(query)
        return rows.map { $0.string(0) }
    }

    /// Enqueues visits through a daemon's socket, and returns their numbers.
    private func enqueue(_ paths: [String], through member: FleetMember) async throws -> [String] {
        var jobs: [String] = []
        for path in paths {
            let answer = try await member.halyard("enqueue", "visit", bed.server.site + path)
            jobs.append(answer.output.trimmingCharacters(in: .whitespacesAndNewlines))
        }
        return jobs
    }

    /// Waits until the web server has received this many requests.
    private func requests(_ count: Int) async {
        _ = await bed.server.requests.first(from: count - 1) { _ in true }
    }

    private func wait(for jobs: [String], through member: FleetMember) async throws {
        let result = try await ChildProcess.run(
            binary("halyard"), ["wait"] + jobs, environment: ["HALYARD_SOCKET": member.socket, "TZ": "UTC"])
        #expect(result.status == .exited(0), "\(result.errors)")
    }

    @Test func aDaemonKeepsItsJobsOnAServer() async throws {
        let member = try FleetMember("one", of: bed, database: url)
        let daemon = try await member.start()
        #expect(try await memoryMap(of: daemon).contains("/libpq.so"))
        let jobs = try await enqueue(["/page/1", "/page/2"], through: member)
        try await wait(for: jobs, through: member)
        let status = try await member.halyard("status", "--json").output
        #expect(status.contains("postgresql://"))
        #expect(try ask("SELECT outcome FROM halyard.results") == ["succeeded", "succeeded"])
        // A command that names the database needs no daemon.
        let direct = try await ChildProcess.run(
            binary("halyard"), ["show", jobs[0], "--database", url], environment: ["TZ": "UTC"])
        #expect(direct.status == .exited(0), "\(direct.errors)")
        let added = try await ChildProcess.run(
            binary("halyard"), ["enqueue", "--database", url, "visit", bed.server.site + "/page/3"],
            environment: ["TZ": "UTC"])
        #expect(added.status == .exited(0), "\(added.errors)")
        #expect(added.errors.contains("wrote to postgresql://"))
        try await wait(
            for: [added.output.trimmingCharacters(in: .whitespacesAndNewlines)], through: member)
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
        #expect(try ask("SELECT DISTINCT state FROM halyard.daemons") == ["ended"])
        try server.dropDatabase(url)
    }

    /// A restart would end the running jobs and bring no answer.
    @Test func aDaemonOutlivesASilentServer() async throws {
        // Other tests use the shared server, so this test freezes its own.
        let server = try #require(PostgresServer())
        let url = try server.makeDatabase()
        let member = try FleetMember("one", of: bed, database: url)
        let daemon = try await member.start(environment: ["WATCHDOG_USEC": "8000000"])
        try await wait(for: enqueue(["/page/1"], through: member), through: member)
        let heard = member.notifications.heard
        let frozen = try server.freeze(url)
        // A ping comes every two seconds. The first one may be from before the freeze.
        var from = heard.all.count
        for _ in 0..<4 {
            let next = try #require(await heard.first(from: from) { $0.hasPrefix("WATCHDOG=") })
            try #require(next.line == "WATCHDOG=1")
            from = next.index + 1
        }
        frozen.thaw()
        try await wait(for: enqueue(["/page/2"], through: member), through: member)
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
    }

    /// The daemon cannot store how its last attempt ended.
    @Test func aStopDuringAnOutageIsNotACrash() async throws {
        let server = try #require(PostgresServer())
        let url = try server.makeDatabase()
        let member = try FleetMember("one", of: bed, database: url, "drain_timeout: 0s\ngrace: 1s")
        let daemon = try await member.start()
        let job = try await enqueue(["/gate/1"], through: member)[0]
        await requests(1)
        let isolated = try server.isolate()
        daemon.signal(SIGTERM)
        _ = await daemon.waitForEnd()
        isolated.rejoin()
        bed.server.openGate()
        let next = try await member.start()
        try await wait(for: [job], through: member)
        let rows = try Connection(to: url).run(
            "SELECT outcome || coalesce(': ' || (error::json ->> 'message'), '') FROM halyard.attempts ORDER BY attempt"
        )
        #expect(
            rows.map { $0.string(0) } == [
                "interrupted: The daemon ended because it could not use the database, while it ran.", "succeeded",
            ])
        next.signal(SIGTERM)
        #expect(await next.waitForEnd() == .exited(0))
    }

    @Test func aDaemonOnAFileDoesNotLoadTheServersLibrary() async throws {
        // A library that cannot be loaded.
        try bed.folder.write("", to: "libpq.so.5")
        let member = try FleetMember("one", of: bed, database: url)
        let refused = try member.launch(environment: ["LD_LIBRARY_PATH": bed.folder.path])
        #expect(await refused.waitForEnd() == .exited(78))
        #expect(refused.errors.text.contains("Install it: apt-get install libpq5."))
        try await bed.withDaemon { daemon in
            try await bed.enqueueVisits(["/page/1"])
            try await bed.waitForAllJobs()
            let map = try await memoryMap(of: daemon)
            #expect(map.contains("/libc.so") && !map.contains("libpq"))
        }
    }

    private func memoryMap(of process: ChildProcess) async throws -> String {
        try await ChildProcess.run("cat", ["/proc/\(process.pid)/maps"]).output
    }

    /// The database knows definitions, but not the code of kinds.
    @Test func aJobThatSQLEnqueuedFailsIfItsKindRefusesTheInput() async throws {
        let member = try FleetMember("one", of: bed, database: url)
        let daemon = try await member.start()
        let job = try ask("SELECT halyard.enqueue('visit', '{\"url\": \"http://10.0.0.1/\"}')::text")[0]
        #expect(
            try await ChildProcess.run(
                binary("halyard"), ["wait", job], environment: ["HALYARD_SOCKET": member.socket]
            ).status == .exited(1))
        #expect(
            try ask("SELECT outcome || ' ' || (error::json ->> 'code') FROM halyard.results WHERE job = \(job)") == [
                "failed address_refused"
            ])
        #expect(try ask("SELECT count(*)::text FROM halyard.attempts WHERE job = \(job)") == ["1"])
        await daemon.stop()
    }

    /// The file has jobs of the past. New ones would wait in it for ever.
    @Test func anOlderFileIsNotUsedInsteadOfTheServersDatabase() async throws {
        try await bed.withDaemon { _ in }
        let member = try FleetMember("one", of: bed, database: url)
        // The usual home.
        try FileManager.default.createSymbolicLink(
            atPath: bed.folder.path + "/postgresql", withDestinationPath: member.home)
        func expect(_ status: Int32, _ arguments: String...) async throws {
            let result = try await ChildProcess.run(
                binary("halyard"), arguments,
                environment: ["HALYARD_SOCKET": member.socket, "HALYARD_DATABASE": bed.database, "TZ": "UTC"])
            #expect(result.status == .exited(status), "\(arguments): \(result.errors)")
            if status != 0 { #expect(result.errors.contains("a database on a server"), "\(result.errors)") }
        }
        let daemon = try await member.start()
        try await expect(0, "status")
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
        try await expect(69, "enqueue", "visit", bed.server.site + "/page/1")
        try await expect(69, "status")
        try await expect(0, "status", "--database", bed.database)
        // The file is in use again.
        try await bed.withDaemon { _ in }
        try await expect(0, "enqueue", "visit", bed.server.site + "/page/1")
    }

    @Test func theStatusOfADaemonWithoutItsServerIsNotThatOfAFile() async throws {
        let server = try #require(PostgresServer())
        let member = try FleetMember("one", of: bed, database: try server.makeDatabase())
        let daemon = try await member.start()
        try await bed.withDaemon { _ in }
        let isolated = try server.isolate()
        let status = try await ChildProcess.run(
            binary("halyard"), ["status"],
            environment: ["HALYARD_SOCKET": member.socket, "HALYARD_DATABASE": bed.database, "TZ": "UTC"])
        #expect(status.status == .exited(75))
        #expect(status.errors.contains("cannot be reached"), "\(status.errors)")
        isolated.rejoin()
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
    }

    @Test func aCommandSaysWhyItCannotUseTheDatabase() async throws {
        let member = try FleetMember("one", of: bed, database: url)
        let daemon = try await member.start()
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
        func expect(_ status: Int32, _ text: String?, _ database: String, _ arguments: [String]) async throws {
            let result = try await ChildProcess.run(
                binary("halyard"), arguments + ["--database", database], environment: ["TZ": "UTC"])
            #expect(result.status == .exited(status), "\(result.errors)")
            if let text { #expect(result.errors.contains(text), "\(result.errors)") }
        }
        let (stranger, reader) = ("stranger_\(getpid())", "reader_\(getpid())")
        _ = try ask(
            """
            CREATE ROLE \(stranger) LOGIN;
            CREATE ROLE \(reader) LOGIN;
            GRANT halyard_reader TO \(reader);
            GRANT SELECT ON ALL TABLES IN SCHEMA halyard TO \(reader)
            """)
        let enqueue = ["enqueue", "visit", bed.server.site + "/page/1"]
        try await expect(77, "permission denied", url.replacing("//halyard@", with: "//\(stranger)@"), ["list"])
        let readerURL = url.replacing("//halyard@", with: "//\(reader)@")
        try await expect(0, nil, readerURL, ["list"])
        try await expect(77, "The role may not do this", readerURL, enqueue)
        _ = try ask("UPDATE halyard.schema_version SET version = version + 1, oldest = version + 1")
        try await expect(78, "Upgrade Halyard", url, enqueue)
        #expect(try ask("SELECT count(*)::text FROM halyard.job") == ["0"])
        _ = try ask("DROP OWNED BY \(stranger), \(reader); DROP ROLE \(stranger), \(reader)")
    }

    @Test func twoDaemonsShareTheJobsOfOneDatabase() async throws {
        let members = [
            try FleetMember("one", of: bed, database: url, "slots: 2"),
            try FleetMember("two", of: bed, database: url, "slots: 2"),
        ]
        let daemons = [try await members[0].start(), try await members[1].start()]
        let jobs = try await enqueue((1...4).map { "/gate/\($0)" }, through: members[0])
        // No request is answered before the gate opens, so the four jobs run at the same time, two in each daemon.
        await requests(4)
        #expect(try ask("SELECT running::text FROM halyard.daemons ORDER BY name") == ["2", "2"])
        let listed = try await members[0].halyard("daemons").output.split(separator: "\n").map { line in
            line.split(separator: " ").map(String.init)
        }
        #expect(listed.map(\.first) == ["DAEMON", "one", "two"])
        // The name of the host has no spaces.
        #expect(listed.dropFirst().allSatisfy { $0.count > 4 && $0[3] == "running" && $0[4] == "2" })
        bed.server.openGate()
        try await wait(for: jobs, through: members[1])
        #expect(try ask("SELECT outcome FROM halyard.results") == Array(repeating: "succeeded", count: 4))
        for daemon in daemons { await daemon.stop() }
        try server.dropDatabase(url)
    }

    @Test func anotherDaemonRunsTheJobsOfOneThatWasKilled() async throws {
        // Its jobs wait for the end of this lease.
        let killed = try FleetMember("killed", of: bed, database: url, lease: "20s")
        // A daemon looks for the jobs of dead ones whenever it renews its own lease.
        let other = try FleetMember("other", of: bed, database: url, lease: "60s")
        let first = try await killed.start()
        let jobs = try await enqueue(["/gate/1", "/gate/2"], through: killed)
        // Both jobs have begun.
        await requests(2)
        let second = try await other.start()
        first.signal(SIGKILL)
        _ = await first.waitForEnd()
        bed.server.openGate()
        try await wait(for: jobs, through: other)
        // One result each. The attempts that began in the killed daemon did not succeed: they crashed, unless that daemon
        // could not renew its lease in time before it was killed.
        #expect(try ask("SELECT outcome FROM halyard.results") == ["succeeded", "succeeded"])
        let ended = try ask(
            """
            SELECT   job::text
            FROM     halyard.attempts
            WHERE    attempt = 1
            AND      outcome IN ('crashed', 'interrupted')
            ORDER BY job
            """)
        #expect(ended == jobs)
        await second.stop()
        try server.dropDatabase(url)
    }

    @Test func aDaemonThatIsStartedAgainTakesItsJobsBackAtOnce() async throws {
        // Otherwise its jobs would wait for ten minutes, the length of its lease.
        let member = try FleetMember("one", of: bed, database: url)
        let first = try await member.start()
        let jobs = try await enqueue(["/gate/1"], through: member)
        await requests(1)
        first.signal(SIGKILL)
        _ = await first.waitForEnd()
        bed.server.openGate()
        let second = try await member.start()
        try await wait(for: jobs, through: member)
        #expect(try ask("SELECT outcome FROM halyard.results") == ["succeeded"])
        #expect(try ask("SELECT count(DISTINCT identity)::text FROM halyard.daemon") == ["1"])
        await second.stop()
        try server.dropDatabase(url)
    }

    @Test func aCopiedMachineDoesNotEndTheLifeOfTheOriginal() async throws {
        // The original's life lasts, however slow the machine is.
        let original = try FleetMember("original", of: bed, database: url, lease: "600s")
        let daemon = try await original.start()
        let copy = try FleetMember("copy", of: bed, database: url)
        try FileManager.default.createDirectory(atPath: copy.home, withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            atPath: original.home + "/daemon-id", toPath: copy.home + "/daemon-id")
        let refused = try copy.launch(environment: ["HALYARD_BOOT": "another"])
        #expect(await refused.waitForEnd() == .exited(75))
        #expect(refused.errors.text.contains("has the same daemon-id"))
        let jobs = try await enqueue(["/page/1"], through: original)
        try await wait(for: jobs, through: original)
        // The remedy.
        try FileManager.default.removeItem(atPath: copy.home + "/daemon-id")
        let second = try await copy.start(environment: ["HALYARD_BOOT": "another"])
        #expect(try ask("SELECT count(DISTINCT identity)::text FROM halyard.daemon") == ["2"])
        await second.stop()
        await daemon.stop()
        try server.dropDatabase(url)
    }

    @Test func aCopiedHomeOnTheSameHostDoesNotEndTheLifeOfTheOriginal() async throws {
        let original = try FleetMember("original", of: bed, database: url, lease: "600s")
        let daemon = try await original.start()
        let copy = try FleetMember("copy", of: bed, database: url)
        try FileManager.default.createDirectory(atPath: copy.home, withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            atPath: original.home + "/daemon-id", toPath: copy.home + "/daemon-id")
        let refused = try copy.launch()
        #expect(await refused.waitForEnd() == .exited(75))
        #expect(refused.errors.text.contains("has the same daemon-id"))
        #expect(try ask("SELECT state FROM halyard.daemons") == ["alive"])
        await daemon.stop()
        try server.dropDatabase(url)
    }

    @Test func filesOfJobsThatOtherDaemonsPrunedAreRemovedAfterTheStart() async throws {
        let member = try FleetMember("one", of: bed, database: url)
        try FileManager.default.createDirectory(atPath: member.home, withIntermediateDirectories: false)
        let files = JobFiles(folder: member.home + "/files")
        try files.beginLog(of: Lease(job: JobID(77), attempt: 1)).finish()
        let watch = try FolderWatch(member.home + "/files")
        let daemon = try await member.start()
        try await watch.waitUntilEmpty()
        await daemon.stop()
        try server.dropDatabase(url)
    }

    @Test func aStatusOfTheDatabaseTellsWhetherADaemonRuns() async throws {
        func state() async throws -> String {
            let status = try await ChildProcess.run(
                binary("halyard"), ["status", "--database", url], environment: ["TZ": "UTC"])
            #expect(status.status == .exited(0), "\(status.errors)")
            return String(status.output.prefix { $0 != "\n" })
        }
        let member = try FleetMember("one", of: bed, database: url)
        let daemon = try await member.start()
        #expect(try await state() == "halyardd  running")
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
        #expect(try await state() == "halyardd  stopped")
        try server.dropDatabase(url)
    }

    @Test func aServerThatCannotBeReachedEndsTheStartAndNamesNoPassword() async throws {
        let member = try FleetMember(
            "one", of: bed, database: "postgresql://halyard:secret@/jobs?host=\(bed.folder.path)")
        let daemon = try member.launch()
        #expect(await daemon.waitForEnd() == .exited(75))
        #expect(daemon.errors.text.contains("cannot be reached"))
        #expect(!daemon.errors.text.contains("secret"))
        try server.dropDatabase(url)
    }
}
