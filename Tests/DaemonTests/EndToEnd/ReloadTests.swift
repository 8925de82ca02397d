import Foundation
import Glibc
import Programs
import Testing

@Suite(.serialized) struct ReloadTests {
    @Test(.timeLimit(.minutes(2)))
    func sighupTakesOverWhatChanged() async throws {
        let bed = try TestBed()
        try bed.configure(allow: [])
        try await bed.withDaemon { daemon in
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            try await bed.waitForAllJobs()
            #expect(bed.server.requests.all.isEmpty)
            try bed.configure()
            let from = bed.notifications.heard.all.count
            daemon.signal(SIGHUP)
            let reloading = try #require(await bed.notifications.heard.first(from: from) { $0 == "RELOADING=1" })
            let clock = try #require(
                await bed.notifications.heard.first(from: from) { $0.hasPrefix("MONOTONIC_USEC=") })
            let ready = try #require(await bed.notifications.heard.first(from: from) { $0 == "READY=1" })
            #expect(reloading.index < clock.index)
            #expect(clock.index < ready.index)
            try await bed.enqueue("visit", "\(bed.server.site)/page/2")
            await bed.server.requests.first { $0.hasSuffix("/page/2") }
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func aBadFileIsRefusedVisiblyAndChangesNothing() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            try bed.configure("slotz: 1", allow: [])
            let from = bed.notifications.heard.all.count
            let refused = try await bed.halyard("reload")
            #expect(refused.status == .exited(78))
            let line = ServerDatabase.isWanted ? 9 : 7
            #expect(refused.errors.contains("halyard.yaml:\(line): unknown key \"slotz\"; did you mean \"slots\"?"))
            #expect(daemon.errors.text.contains("reload refused"))
            #expect(await bed.notifications.heard.first(from: from) { $0 == "READY=1" } != nil)
            // The old rules still hold: the server may be reached.
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM job") == "4")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func certificatesThatCannotBeReadAreRefused() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try bed.configure("  authorities: \(bed.folder.path)/none.pem")
            let refused = try await bed.halyard("reload")
            #expect(refused.status == .exited(78))
            #expect(
                refused.errors.contains("network.authorities names \(bed.folder.path)/none.pem, which cannot be read"))
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whatAReloadCannotChangeDoesNotHinderIt() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            let uploads = bed.home + "/uploads"
            #expect(rmdir(uploads) == 0)
            #expect(FileManager.default.createFile(atPath: uploads, contents: Data("no folder".utf8)))
            let reload = try await bed.halyard("reload")
            #expect(reload.status == .exited(0), "\(reload.errors)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func whatNeedsARestartIsRefusedByName() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { _ in
            try bed.configure("max_rescues: 9")
            let refused = try await bed.halyard("reload")
            #expect(refused.status == .exited(78))
            #expect(refused.errors.contains("A reload cannot change max_rescues"))
            try bed.configure()
            #expect(try await bed.halyard("reload").status == .exited(0))
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func theLogLevelFollows() async throws {
        let bed = try TestBed()
        try await bed.withDaemon { daemon in
            try bed.configure("log: {level: error}")
            #expect(try await bed.halyard("reload").status == .exited(0))
            try await bed.enqueue("visit", "\(bed.server.site)/page/1")
            try await bed.waitForAllJobs()
            #expect(!daemon.errors.text.contains("succeeded"))
        }
    }
}
