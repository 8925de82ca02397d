import Programs
import Testing

@Suite(.serialized) struct LockedDatabaseTests {
    private func isStatusOfAWritable(_ notification: String) -> Bool {
        notification.hasPrefix("STATUS=") && !notification.hasPrefix("STATUS=cannot write")
    }

    /// Callers are refused although the daemon has no running job that would show the problem.
    @Test(.timeLimit(.minutes(2)))
    func theStatusAndTheLogSayThatTheDatabaseIsLocked() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            await bed.notifications.heard.first { $0.hasPrefix("STATUS=idle") }
            let holder = try bed.spawn(
                "sqlite3",
                [bed.database, "BEGIN IMMEDIATE", ".shell echo holds; exec tail --pid=$PPID -f /dev/null"])
            await holder.output.first { $0.hasPrefix("holds") }
            for _ in 1...2 {
                #expect(try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1").status == .exited(75))
            }
            let told = await bed.notifications.heard.first {
                $0.hasPrefix("STATUS=cannot write: The database was locked by another process")
            }
            #expect(told != nil)
            let status = try await bed.halyard("status")
            #expect(status.output.contains("locked by another process"), "\(status.output)")
            await daemon.errors.first(containing: "the database cannot be written now")
            // The daemon tries again by itself, so the status may change before the holder has ended.
            let from = bed.notifications.heard.all.count
            await holder.stop()
            while try await bed.halyard("enqueue", "visit", "\(bed.server.site)/page/1").status != .exited(0),
                !Task.isCancelled
            {}
            await daemon.errors.first(containing: "the database can be written again")
            #expect(await bed.notifications.heard.first(from: from) { isStatusOfAWritable($0) } != nil)
            #expect(daemon.errors.all.filter { $0.contains("cannot be written now") }.count == 1)
            #expect(daemon.errors.all.filter { $0.contains("can be written again") }.count == 1)
        }
    }
}
