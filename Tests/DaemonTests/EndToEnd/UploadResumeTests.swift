import Foundation
import Glibc
import Programs
import Synchronization
import Testing

/// The daemon is killed in the middle of a file, and the next one goes on: proved by what a server that is not ours received.
@Suite(
    .enabled(if: UploadServer.isInstalled, "the servers from PyPI are not installed (scripts/test.d/servers)"),
    .serialized)
struct UploadResumeTests {
    private static let size = (6 << 20) + 77
    private static let chunk = 1 << 20

    @Test(.timeLimit(.minutes(2)), arguments: ["tus", "resumable"])
    func uploadGoesOnAfterAKillAndSendsAtMostOneChunkAgain(style: String) async throws {
        let bed = try TestBed()
        let stored = bed.folder.path + "/stored"
        try FileManager.default.createDirectory(atPath: stored, withIntermediateDirectories: true)
        let (server, port) = try await UploadServer.start(style, storing: stored, in: bed)
        let (path, content) = try bed.uploadSource(Self.size)
        try bed.configure(
            "upload: {roots: [\(bed.folder.path)], chunk_size: 1MiB}", allow: ["127.0.0.1:\(port)"])
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(path)", "--set", "to=http://127.0.0.1:\(port)/files/", "--set",
                "protocol=\(style)",
                "--set", "max_rate=4000000")
            let first = try #require(await server.output.first { $0.hasPrefix("PATCH") })
            #expect(await server.output.first(from: first.index + 1) { $0.hasPrefix("PATCH") } != nil)
            daemon.signal(SIGKILL)
            #expect(await daemon.waitForEnd() == .killed(by: SIGKILL))
        }
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM jobs") == "succeeded")
            let location = try await bed.ask("SELECT value ->> 'location' FROM results")
            let name = try #require(location.split(separator: "/").last)
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(stored)/\(name)")) == content)
        }
        // It tells of a request after it has answered it.
        let told = Mutex(0)
        let last = await server.output.first { line in
            told.withLock { $0 += line.hasPrefix("PATCH") ? Int(line.split(separator: " ").last ?? "") ?? 0 : 0 }
            return told.withLock { $0 >= Self.size }
        }
        #expect(last != nil)
        let requests = server.output.all.map { $0.split(separator: " ") }
        #expect(requests.count { $0[0] == "POST" } == 1)
        let sent = requests.filter { $0[0] == "PATCH" }.reduce(0) { $0 + (Int($1[2]) ?? 0) }
        #expect(sent >= Self.size && sent <= Self.size + Self.chunk)
        server.signal(SIGKILL)
    }

    /// A job that is cancelled while it waits for its next attempt has none that could take the upload back.
    @Test(.timeLimit(.minutes(2)))
    func uploadOfAJobThatIsCancelledBetweenAttemptsIsTakenBack() async throws {
        let bed = try TestBed()
        let stored = bed.folder.path + "/stored"
        try FileManager.default.createDirectory(atPath: stored, withIntermediateDirectories: true)
        let (server, port) = try await UploadServer.start("tus", storing: stored, in: bed)
        let (path, _) = try bed.uploadSource(Self.size)
        try bed.folder.write(
            """
            definitions:
              patient: {kind: upload, retry: {tries: 3, delay: constant, initial: 1h}}
            """, to: "definitions.yaml")
        try bed.configure("upload: {roots: [\(bed.folder.path)], chunk_size: 1MiB}", allow: ["127.0.0.1:\(port)"])
        try await bed.withDaemon { _ in
            try await bed.enqueue(
                "patient", "--set", "file=\(path)", "--set", "to=http://127.0.0.1:\(port)/files/", "--set",
                "protocol=tus", "--set", "max_rate=1000000", "--set", "timeout=2500ms")
            #expect(await bed.notifications.heard.first { $0.contains("1 scheduled") } != nil)
            #expect(!server.output.all.contains { $0.hasPrefix("DELETE") })
            let held = try FileManager.default.contentsOfDirectory(atPath: stored)
            #expect(held.contains { !$0.contains(".") })
            #expect(try await bed.halyard("cancel", "1").status == .exited(0))
            #expect(await server.output.first { $0.hasPrefix("DELETE") } != nil)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: stored).filter { !$0.contains(".") } == [])
        server.signal(SIGKILL)
    }

    /// Stopped with the daemon, the upload stays at the server; cancelled, it goes.
    @Test(.timeLimit(.minutes(2)))
    func onlyACancelledJobTakesItsUploadBack() async throws {
        let bed = try TestBed()
        let stored = bed.folder.path + "/stored"
        try FileManager.default.createDirectory(atPath: stored, withIntermediateDirectories: true)
        let (server, port) = try await UploadServer.start("tus", storing: stored, in: bed)
        let (path, _) = try bed.uploadSource(Self.size)
        try bed.configure(
            "drain_timeout: 0s\nupload: {roots: [\(bed.folder.path)], chunk_size: 1MiB}", allow: ["127.0.0.1:\(port)"])
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(path)", "--set", "to=http://127.0.0.1:\(port)/files/", "--set", "protocol=tus",
                "--set", "max_rate=1000000")
            #expect(await server.output.first { $0.hasPrefix("PATCH") } != nil)
            daemon.signal(SIGTERM)
            #expect(await daemon.waitForEnd() == .exited(0))
        }
        #expect(!server.output.all.contains { $0.hasPrefix("DELETE") })
        let seen = server.output.all.count
        try await bed.withDaemon { _ in
            #expect(await server.output.first(from: seen) { $0.hasPrefix("PATCH") } != nil)
            #expect(try await bed.halyard("cancel", "1").status == .exited(0))
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM jobs") == "cancelled")
        }
        #expect(await server.output.first { $0.hasPrefix("DELETE") } != nil)
        // To the server an upload is there when its content is. The notes beside it (`.info`) do not count, since its
        // handler of a piece that was torn off writes them once more, also after a deletion.
        #expect(try FileManager.default.contentsOfDirectory(atPath: stored).filter { !$0.contains(".") } == [])
        server.signal(SIGKILL)
    }

    @Test(.timeLimit(.minutes(2)))
    func partsThatS3HasAreNotSentAgainAfterAKill() async throws {
        let bed = try TestBed()
        let (server, port) = try await UploadServer.start("s3", storing: bed.folder.path, in: bed)
        let site = "http://127.0.0.1:\(port)"
        let (path, content) = try bed.uploadSource((26 << 20) + 77)
        try bed.folder.write("AKIDEXAMPLE:secret", to: "store")
        try bed.configure(
            "upload: {roots: [\(bed.folder.path)], credentials: \(bed.folder.path), credential_origins: ['store=\(site)'], part_size: 5MiB, chunk_size: 5MiB}",
            allow: ["127.0.0.1:\(port)"])
        #expect(try await ChildProcess.run("curl", ["-sf", "-X", "PUT", site + "/bucket"]).status == .exited(0))
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(path)", "--set", "to=\(site)/bucket/key", "--set", "protocol=s3", "--set",
                "credential=store", "--set", "max_rate=16000000")
            #expect(await server.errors.first(containing: "partNumber=3") != nil)
            daemon.signal(SIGKILL)
            #expect(await daemon.waitForEnd() == .killed(by: SIGKILL))
        }
        try await bed.withDaemon { _ in
            try await bed.waitForAllJobs()
            #expect(try await bed.ask("SELECT state FROM jobs") == "succeeded")
        }
        let back = bed.folder.path + "/back"
        #expect(
            try await ChildProcess.run("curl", ["-sf", "-o", back, site + "/bucket/key"]).status == .exited(0))
        #expect(try Data(contentsOf: URL(fileURLWithPath: back)) == content)
        let lines = server.errors.all
        #expect(lines.count { $0.contains("POST /bucket/key?uploads") } == 1)
        // Six parts; the one that the kill interrupted, or whose answer was lost, may have come twice.
        #expect((6...7).contains(lines.count { $0.contains("PUT /bucket/key?partNumber") }))
        server.signal(SIGKILL)
    }
}
