import Glibc
import Programs
import Testing

@Suite(.serialized) struct StartTests {
    @Test(.timeLimit(.minutes(1)))
    func aSecondDaemonIsRefusedWithTheFirstOnesNumber() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            let second = try bed.launch(["--socket", bed.folder.path + "/second.sock"])
            #expect(await second.waitForEnd() == .exited(75))
            #expect(second.errors.text.contains("in use by process \(daemon.pid)"))
            #expect(await bed.notifications.heard.first { $0 == "ERRNO=16" } != nil)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func aCommandThatHoldsTheDatabaseIsWaitedFor() async throws {
        let bed = try TestBed()
        let holder = try bed.spawn(
            "flock", ["-F", bed.database + "-lock", "sh", "-c", "echo held; exec tail -f /dev/null"])
        await holder.output.first { $0 == "held" }
        let daemon = try bed.launch()
        let waiting = await bed.notifications.heard.first {
            $0.hasPrefix("STATUS=starting; waiting for another process, a command that is using ")
        }
        #expect(waiting != nil)
        #expect(access(bed.database, F_OK) != 0)
        holder.signal(SIGKILL)
        #expect(await bed.notifications.heard.first { $0 == "READY=1" } != nil)
        daemon.signal(SIGTERM)
        #expect(await daemon.waitForEnd() == .exited(0))
    }

    /// A start that is refused makes no database, which the next one would take for its own.
    @Test(.timeLimit(.minutes(1)))
    func aRefusedStartLeavesNoDatabase() async throws {
        let bed = try TestBed()
        func expectNone(_ arguments: [String], _ status: Int32) async throws {
            let refused = try bed.launch(arguments)
            #expect(await refused.waitForEnd() == .exited(status), "\(refused.errors.text)")
            for suffix in ["", "-wal", "-shm", "-new"] { #expect(access(bed.database + suffix, F_OK) != 0) }
            #expect(access(bed.socket, F_OK) != 0)
        }
        try await expectNone(["--socket", bed.folder.path + "/none/halyard.sock"], 73)
        try await expectNone(["--set", "socket_group=no-such-group"], 78)
        try await expectNone(["--set", "spool.directory=/proc/none"], 74)
        try await expectNone(["--set", "upload.checkpoints=/proc/none"], 74)
        try bed.folder.write("definitions:\n  a: {kind: uplaod}\n", to: "definitions.yaml")
        try await expectNone([], 78)
        // One that comes after the socket was opened takes it away again.
        try bed.folder.write("", to: "halyard.db")
        let refused = try bed.launch()
        #expect(await refused.waitForEnd() == .exited(78))
        #expect(access(bed.socket, F_OK) != 0)
    }

    @Test(.timeLimit(.minutes(1)))
    func aWrongCommandLineIsStatus64() async throws {
        let bed = try TestBed()
        let wrong = try bed.launch(["--onec"])
        #expect(await wrong.waitForEnd() == .exited(64))
    }

    /// P11: what is no database of ours is left as it is.
    @Test(.timeLimit(.minutes(1)))
    func aFileThatIsNoDatabaseIsRefusedAndKept() async throws {
        let bed = try TestBed()
        try bed.folder.write("no database, but somebody's words\n", to: "halyard.db")
        let refused = try bed.launch()
        #expect(await refused.waitForEnd() == .exited(78))
        #expect(refused.errors.text.contains("is not an SQLite database"))
        #expect(try await ChildProcess.run("cat", [bed.database]).output == "no database, but somebody's words")
        #expect(await bed.notifications.heard.first { $0.hasPrefix("STATUS=") && $0.contains("not an SQLite") } != nil)
    }

    @Test(.timeLimit(.minutes(2)))
    func aSocketPassedBySystemdIsUsedAndStartsTheDaemon() async throws {
        let bed = try TestBed()
        let activator = try bed.spawn(
            "systemd-socket-activate",
            [
                "--listen=\(bed.socket)", "--setenv=NOTIFY_SOCKET=\(bed.notifications.address)", binary("halyardd"),
                // The socket has its group already.
                "--config", bed.configuration, "--set", "socket_group=no-such-group",
            ])
        await activator.errors.first(containing: "Listening on")
        // Nothing runs yet: the connection starts it, and waits.
        #expect(access(bed.database, F_OK) != 0)
        try await bed.enqueue("visit", "\(bed.server.site)/page/1")
        #expect(await bed.notifications.heard.first { $0 == "READY=1" } != nil)
        try await bed.waitForAllJobs()
        #expect(try await bed.ask("SELECT state FROM job") == "4")
        // The activator has become the daemon. Its descriptor 3 is the socket, which no child may inherit.
        let flags = try await ChildProcess.run("grep", ["flags:", "/proc/\(activator.pid)/fdinfo/3"]).output
        #expect(flags.split(separator: "\t").last.flatMap { Int($0, radix: 8) }.map { $0 & 0o2000000 } == 0o2000000)
        activator.signal(SIGTERM)
        #expect(await activator.waitForEnd() == .exited(0))
        // The socket is systemd's to remove.
        #expect(access(bed.socket, F_OK) == 0)
    }

    @Test(.timeLimit(.minutes(2)))
    func jobsEnqueuedWithoutADaemonRunWhenItStarts() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        try await bed.enqueue("visit", "\(bed.server.site)/page/1")
        #expect(try await bed.ask("SELECT state FROM job") == "2")
        try await bed.withDaemon { _ in try await bed.waitForAllJobs() }
        #expect(try await bed.ask("SELECT state FROM job") == "4")
    }
}
