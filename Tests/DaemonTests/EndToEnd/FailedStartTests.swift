import Glibc
import Programs
import Testing

/// A service that systemd starts for a caller, but that cannot start.
@Suite(.serialized) struct FailedStartTests {
    /// Runs the daemon as systemd does when the first caller connects.
    private func activate(_ bed: TestBed, _ arguments: [String] = []) async throws -> ChildProcess {
        let activator = try bed.spawn(
            "systemd-socket-activate",
            [
                "--listen=\(bed.socket)", "--setenv=NOTIFY_SOCKET=\(bed.notifications.address)",
                "--setenv=SWIFT_BACKTRACE=enable=no", binary("halyardd"), "--config", bed.configuration,
            ] + arguments)
        await activator.errors.first(containing: "Listening on")
        return activator
    }

    /// Expects that one process answers several callers, one after the other, and then ends.
    private func expectRefusals(
        _ bed: TestBed, _ arguments: [String] = [], reason: String, errno: Int32 = EINVAL
    ) async throws {
        let before = bed.notifications.heard.all.count
        let daemon = try await activate(bed, arguments)
        for verb in [
            ["enqueue", "visit", "\(bed.server.site)/page/1"], ["list"], ["status"],
            ["enqueue", "visit", "\(bed.server.site)/page/1", "--key", "mine"],
        ] {
            let refused = try await ChildProcess.run(
                binary("halyard"), verb,
                environment: ["HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": bed.database, "TZ": "UTC"])
            #expect(refused.status == .exited(69), "\(verb): \(refused)")
            #expect(refused.errors.contains("The daemon is not running, because it cannot start"), "\(refused.errors)")
            #expect(refused.errors.contains(reason), "\(refused.errors)")
            #expect(refused.errors.contains("See: "), "\(refused.errors)")
        }
        // A caller with a body that the daemon does not read is answered as well.
        let large = try await ChildProcess.run(
            "curl",
            [
                "-sS", "--unix-socket", bed.socket, "-w", "%{http_code}", "-o", "/dev/null", "-T", binary("halyard"),
                "-X", "POST", "http://localhost/v1/spool",
            ])
        #expect(large.output == "503", "\(large)")
        let heard = bed.notifications.heard.all.dropFirst(before)
        #expect(heard.contains { $0.hasPrefix("STATUS=") && $0.contains(reason) }, "\(heard)")
        #expect(heard.contains("ERRNO=\(errno)"))
        #expect(!heard.contains("READY=1"))
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .killed(by: SIGTERM))
        #expect(daemon.errors.all.filter { $0.contains(reason) }.count == 1, "\(daemon.errors.text)")
    }

    @Test(.timeLimit(.minutes(2)))
    func callersLearnWhatIsWrongWithTheConfiguration() async throws {
        let bed = try TestBed()
        try bed.configure("slotz: 1\n")
        try await expectRefusals(bed, reason: "unknown key \"slotz\"; did you mean \"slots\"?")
        #expect(access(bed.database, F_OK) != 0)
        // After the repair callers are served.
        try bed.configure()
        let daemon = try await activate(bed)
        try await bed.enqueue("visit", "\(bed.server.site)/page/1")
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
    }

    @Test(.timeLimit(.minutes(2)))
    func callersLearnThatTheDatabaseIsDamaged() async throws {
        let bed = try TestBed()
        try bed.folder.write("no database, but somebody's words\n", to: "halyard.db")
        try await expectRefusals(bed, reason: "is not an SQLite database")
    }

    @Test(.timeLimit(.minutes(2)))
    func callersLearnThatTheCommandLineIsWrong() async throws {
        let bed = try TestBed()
        try await expectRefusals(bed, ["--onec"], reason: "Unknown option '--onec'")
    }

    @Test(.timeLimit(.minutes(2)))
    func callersLearnThatTheDatabaseIsNewer() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        try await ChildProcess.run("sqlite3", [bed.database, "PRAGMA user_version = 9999"])
        try await expectRefusals(bed, reason: "9999")
    }
}
