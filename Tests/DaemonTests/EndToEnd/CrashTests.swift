import Glibc
import Programs
import Testing

@Suite(.serialized) struct CrashTests {
    /// P1, P2, P3, P6: the daemon is killed while many jobs run, again and again, at moments that differ each time.
    @Test(.timeLimit(.minutes(5)))
    func jobsOfAKilledDaemonEndOnceEach() async throws {
        let bed = try TestBed()
        let count = 120
        let moments = [1, 9, 20, 34, 55, 80]
        try await bed.withDaemon(["--set", "max_rescues=100"]) { daemon in
            try await bed.enqueueVisits((1...count).map { "/page/\($0)" })
            // Counted from the first: on a busy machine all of them may have come while the enqueue was answered.
            await bed.server.requests.first(from: moments[0]) { _ in true }
        }
        for moment in moments.dropFirst() {
            let seen = bed.server.requests.all.count
            try await bed.withDaemon(["--set", "max_rescues=100"]) { daemon in
                await bed.server.requests.first(from: min(seen + moment / 4, count - 1)) { _ in true }
            }
        }
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT count(*) FROM job") == "\(count)")
            #expect(try await bed.ask("SELECT count(*) FROM job WHERE state = 4") == "\(count)")
            #expect(try await bed.ask("SELECT count(*), count(DISTINCT job_id) FROM result") == "\(count)|\(count)")
            #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE outcome = 0") == "\(count)")
            #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE outcome NOT IN (0, 5)") == "0")
            #expect(try await bed.ask("SELECT max(tries) FROM job") == "1")
            #expect(try await bed.ask("PRAGMA integrity_check") == "ok")
        }
    }

    /// P1: whoever was told "accepted" finds the job after the crash, whatever was in flight.
    @Test(.timeLimit(.minutes(5)))
    func everyAcknowledgedJobSurvivesAKill() async throws {
        let bed = try TestBed()
        try bed.configure("slots: 1")
        var acknowledged: Set<String> = []
        for round in 1...3 {
            try await bed.withDaemon { daemon in
                let jobs = try await withThrowingTaskGroup(of: String?.self) { group in
                    for number in 1...12 {
                        group.addTask {
                            let answer = try await ChildProcess.run(
                                binary("halyard"),
                                ["enqueue", "visit", "\(bed.server.site)/page/\(round)-\(number)"],
                                environment: [
                                    "HALYARD_SOCKET": bed.socket, "HALYARD_DATABASE": "/nonexistent/halyard.db",
                                ])
                            return answer.status == .exited(0) ? answer.output : nil
                        }
                    }
                    var jobs: [String] = []
                    while let answer = try await group.next() {
                        if let answer { jobs.append(answer) }
                        // Some have their answer, the others are anywhere.
                        if jobs.count == 2 * round { daemon.signal(SIGKILL) }
                    }
                    return jobs
                }
                #expect(jobs.count >= 2 * round)
                acknowledged.formUnion(jobs.flatMap { $0.split(separator: "\n").map(String.init) })
            }
        }
        for job in acknowledged {
            #expect(try await bed.ask("SELECT count(*) FROM job WHERE id = \(job)") == "1")
        }
    }

    /// P1: after a failed sync nobody knows what the disk holds. The daemon says so and ends, though it has nothing to
    /// run; the next start finds out.
    @Test(.timeLimit(.minutes(1)), .enabled(if: access("/usr/bin/strace", X_OK) == 0, "needs strace"))
    func anIdleDaemonEndsWhenItsDiskFails() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            let strace = try bed.spawn(
                "/usr/bin/strace",
                ["-f", "-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO", "-p", "\(daemon.pid)"])
            try #require(await strace.errors.first { $0.contains("attached") } != nil)
            let told = try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1", "--in", "1h")
            #expect(told.status != .exited(0))
            // Told by the answer, or by its absence where the daemon was faster.
            #expect(told.errors.contains("may or may not"), "\(told.errors)")
            #expect(await daemon.waitForEnd() == .exited(74))
            #expect(daemon.errors.text.contains("A commit failed"), "\(daemon.errors.text)")
            _ = await strace.waitForEnd()
        }
        try await bed.withDaemon { _ in
            let answer = try await bed.ask("PRAGMA integrity_check")
            #expect(answer == "ok")
        }
    }

    /// P6: a job during which the daemon always crashes is given up after its limit; a kill from outside says nothing
    /// against it.
    @Test(.timeLimit(.minutes(2)))
    func aJobThatKeepsTakingTheDaemonDownIsGivenUp() async throws {
        let bed = try TestBed()
        try bed.configure("max_rescues: 1")
        var end: ChildProcess.End?
        for signal in [SIGKILL, SIGSEGV, SIGKILL, SIGILL] {
            let seen = bed.server.requests.all.count
            try await bed.withDaemon { daemon in
                if seen == 0 { try await bed.enqueueVisits(["/gate/1"]) }
                await bed.server.requests.first(from: seen) { $0.hasSuffix("/gate/1") }
                daemon.signal(signal)
                end = await daemon.waitForEnd()
            }
            // The mark does not change how the process ends.
            #expect(end == .killed(by: signal))
        }
        try await bed.withDaemon { _ in
            let result = try await bed.ask("SELECT outcome, code FROM result")
            #expect(result == "5|crashed")
            let causes = try await bed.ask(
                "SELECT group_concat(coalesce(detail ->> 'cause', '-')) FROM attempt WHERE outcome = 5")
            #expect(causes == "-,SIGSEGV,-,SIGILL")
        }
    }

    /// P14: nobody knows why a process was killed, so a job that happened to be alone is not given up for it.
    @Test(.timeLimit(.minutes(2)))
    func aLoneJobOutlivesKillsFromOutside() async throws {
        let bed = try TestBed()
        try bed.configure("max_rescues: 0")
        // A service manager sends SIGABRT when its watchdog runs out.
        for signal in [SIGKILL, SIGABRT, SIGKILL] {
            let seen = bed.server.requests.all.count
            try await bed.withDaemon { daemon in
                if seen == 0 { try await bed.enqueueVisits(["/gate/1"]) }
                await bed.server.requests.first(from: seen) { $0.hasSuffix("/gate/1") }
                daemon.signal(signal)
                _ = await daemon.waitForEnd()
            }
        }
        bed.server.openGate()
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT outcome FROM result") == "4")
            #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE outcome = 5") == "3")
        }
    }

    /// P14: a job that crashes the daemon harms no other job, however often the daemon crashes.
    @Test(.timeLimit(.minutes(3)))
    func onlyTheGuiltyJobFails() async throws {
        let bed = try TestBed()
        try bed.configure("max_rescues: 1")
        let innocent = (1...5).map { "/gate/\($0)" }
        let guilty = "/hang/guilty"
        // The daemon is killed when it has requested the guilty page and this many pages in all.
        func crash(requests: Int, _ body: () async throws -> Void = {}) async throws {
            let seen = bed.server.requests.all.count
            try await bed.withDaemon { daemon in
                try await body()
                await bed.server.requests.first(from: seen + requests - 1) { _ in true }
                await bed.server.requests.first(from: seen) { $0.hasSuffix(guilty) }
                daemon.signal(SIGSEGV)
                _ = await daemon.waitForEnd()
            }
        }
        try await crash(requests: 6) {
            try await bed.enqueueVisits(innocent.prefix(3) + [guilty] + innocent.dropFirst(3))
        }
        try await crash(requests: 6)
        // Now all of them are on trial together.
        try await crash(requests: 6)
        // Now each runs alone, and the innocent jobs succeed.
        bed.server.openGate()
        for _ in 1...2 { try await crash(requests: 1) }
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            let results = try await bed.ask("SELECT job_id, outcome, code FROM result ORDER BY job_id")
            #expect(results == "1|4|\n2|4|\n3|4|\n4|5|crashed\n5|4|\n6|4|")
            // Suspects run a few at a time, so the number of the others differs.
            let beside = try await bed.ask("SELECT group_concat(detail ->> 'beside') FROM attempt WHERE job_id = 4")
            #expect(beside.hasPrefix("5,") && beside.hasSuffix(",0,0"), "\(beside)")
        }
    }

    /// Each sync takes seconds: the manager is told what goes on and asked for time, and of readiness only afterwards.
    @Test(.timeLimit(.minutes(2)), .enabled(if: access("/usr/bin/strace", X_OK) == 0, "needs strace"))
    func aLongRecoveryIsTold() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/gate/1", "/gate/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            await bed.server.requests.first { $0.hasSuffix("/gate/2") }
        }
        let heard = bed.notifications.heard
        let from = heard.all.count
        let clock = ContinuousClock()
        let start = clock.now
        // With -D the tracer stands aside: the process is the daemon, and the tracer ends with it.
        let daemon = try bed.spawn(
            "/usr/bin/strace",
            [
                "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e",
                "inject=fdatasync:delay_enter=5000000", binary("halyardd"), "--config", bed.configuration,
            ], environment: ["NOTIFY_SOCKET": bed.notifications.address])
        let recovering = try #require(await heard.first(from: from) { $0 == "STATUS=recovering; 2 to rescue" })
        #expect(try await bed.ask("SELECT count(*) FROM job WHERE state = 3") == "2")
        let ready = try #require(await heard.first(from: from) { $0 == "READY=1" })
        #expect(clock.now - start >= .seconds(5))
        #expect(recovering.index < ready.index)
        let before = heard.all[from..<recovering.index]
        #expect(before.first?.hasPrefix("STATUS=starting; opening ") == true)
        #expect(before.contains("EXTEND_TIMEOUT_USEC=600000000"))
        #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE outcome = 5") == "2")
        await daemon.stop()
        // Closed when the tracer has ended, too.
        _ = await daemon.errors.first { _ in false }
    }

    @Test(.timeLimit(.minutes(2)))
    func readinessIsToldOnlyAfterRecovery() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try await bed.enqueueVisits(["/gate/1", "/gate/2"])
            await bed.server.requests.first { $0.hasSuffix("/gate/1") }
            await bed.server.requests.first { $0.hasSuffix("/gate/2") }
        }
        let from = bed.notifications.heard.all.count
        try await bed.withDaemon { daemon in
            let heard = bed.notifications.heard.all[from...]
            let ready = try #require(heard.firstIndex(of: "READY=1"))
            let starting = try #require(heard.firstIndex { $0.hasPrefix("STATUS=starting") })
            #expect(starting < ready)
            #expect(try await bed.ask("SELECT count(*) FROM attempt WHERE outcome = 5") == "2")
            let rescued = try #require(await daemon.errors.first { $0.contains("rescued") })
            let told = try #require(await daemon.errors.first { $0.contains(" ready") && !$0.contains("rescued") })
            #expect(rescued.index < told.index)
        }
    }
}
