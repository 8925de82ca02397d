import Glibc
import Programs
import Testing

@Suite(.serialized) struct StopTests {
    /// P7: stop claims nothing more, and lets what runs end.
    @Test(.timeLimit(.minutes(2)))
    func sigtermDrainsAndEndsWell() async throws {
        let bed = try TestBed()
        try bed.configure("slots: 1")
        try await bed.withDaemon { daemon in
            try await bed.enqueueVisits(["/gate/1", "/page/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            daemon.signal(SIGTERM)
            let stopping = try #require(await bed.notifications.heard.first { $0 == "STOPPING=1" })
            let draining = try #require(await bed.notifications.heard.first { $0.hasPrefix("STATUS=draining 1 job, ") })
            let extended = try #require(
                await bed.notifications.heard.first(from: stopping.index) {
                    $0.hasPrefix("EXTEND_TIMEOUT_USEC=")
                })
            #expect(stopping.index < draining.index)
            #expect(stopping.index < extended.index)
            bed.server.openGate()
            #expect(await daemon.waitForEnd() == .exited(0))
            #expect(try await bed.ask("SELECT state, attempt, tries FROM job ORDER BY id") == "4|1|1\n2|0|0")
            #expect(bed.notifications.heard.all.last == "STATUS=stopped")
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aSecondSigtermInterruptsAndCostsNoTry() async throws {
        let bed = try TestBed()
        try bed.configure("drain_timeout: 1h")
        try await bed.withDaemon { daemon in
            try await bed.enqueueVisits(["/gate/1"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            daemon.signal(SIGTERM)
            await bed.notifications.heard.first { $0.hasPrefix("STATUS=draining") }
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        #expect(try await bed.ask("SELECT state, attempt, tries FROM job") == "2|1|0")
        #expect(try await bed.ask("SELECT outcome FROM attempt") == "4")
        bed.server.openGate()
        try await bed.withDaemon { _ in try await bed.waitForAllJobs() }
        #expect(try await bed.ask("SELECT state, attempt, tries FROM job") == "4|2|1")
    }

    @Test(.timeLimit(.minutes(2)))
    func theDrainIsBounded() async throws {
        let bed = try TestBed()
        try bed.configure("drain_timeout: 0s")
        try await bed.withDaemon { daemon in
            try await bed.enqueueVisits(["/gate/1"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            daemon.signal(SIGINT)
            #expect(await daemon.waitForEnd() == .exited(0))
            #expect(try await bed.ask("SELECT state, tries FROM job") == "2|0")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func anIdleDaemonStopsAtOnceAndLeavesNoSocket() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        #expect(access(bed.socket, F_OK) != 0)
    }

    /// P1: after a commit whose outcome is unknown nothing more is accepted. The daemon says why, and a new start finds
    /// out.
    @Test(.timeLimit(.minutes(2)), .enabled("no process can be traced here", { await canTrace() }))
    func aFailingDiskEndsTheDaemonWithItsReason() async throws {
        let bed = try TestBed()
        let daemon = try bed.spawn(
            "strace",
            [
                "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=25+",
                binary("halyardd"), "--config", bed.configuration,
            ], environment: ["NOTIFY_SOCKET": bed.notifications.address])
        try #require(await bed.notifications.heard.first { $0 == "READY=1" } != nil)
        for number in 1...20 {
            let answer = try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/\(number)")
            if answer.status != .exited(0) { break }
        }
        #expect(await daemon.waitForEnd() == .exited(74))
        #expect(daemon.errors.text.contains("its changes may or may not be stored"))
        #expect(await bed.notifications.heard.first { $0.hasPrefix("STATUS=A commit failed") } != nil)
        #expect(await bed.notifications.heard.first { $0 == "ERRNO=5" } != nil)
        try await bed.withDaemon { _ in try await bed.waitForAllJobs() }
        #expect(try await bed.ask("SELECT count(*) FROM job WHERE state <> 4") == "0")
    }
}
