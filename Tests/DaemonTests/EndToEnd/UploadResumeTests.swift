import Foundation
import Glibc
import Programs
import Synchronization
import Testing

/// What `scripts/test` installs for the tests.
private enum TestServers {
    static let python = ["\(repository)/.build/test-servers/bin/python"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// The daemon is killed in the middle of a file, and the next one goes on: proved by what a server that is not ours received.
@Suite(
    .enabled(if: TestServers.python != nil, "the servers from PyPI are not installed (scripts/test.d/servers)"),
    .serialized)
struct UploadResumeTests {
    private static let size = (6 << 20) + 77
    private static let chunk = 1 << 20

    /// Prints method and received bytes of each request, also of one that broke off.
    private static let counting = """
        class Counting:
            def __init__(self, app): self.app = app
            async def __call__(self, scope, receive, send):
                taken = 0
                async def counted():
                    nonlocal taken
                    message = await receive()
                    taken += len(message.get("body", b""))
                    return message
                try:
                    await self.app(scope, counted, send)
                finally:
                    if scope["type"] == "http": print(scope["method"], taken, flush=True)

        """

    private static let tus =
        """
        import sys, uvicorn
        from fastapi import FastAPI
        from tuspyserver import create_tus_router

        """ + counting + """
            app = FastAPI()
            app.include_router(create_tus_router(prefix="files", files_dir=sys.argv[1]))
            uvicorn.run(Counting(app), host="127.0.0.1", port=0, access_log=False)
            """

    private func start(_ bed: TestBed, _ arguments: [String], until sign: String) async throws -> (
        server: ChildProcess, port: String
    ) {
        let server = try bed.spawn(try #require(TestServers.python), arguments)
        let line = try #require(await server.errors.first(containing: sign)?.line, "\(server.errors.text)")
        let port = try #require(line.components(separatedBy: "127.0.0.1:").dropFirst().first).prefix { $0.isNumber }
        return (server, String(port))
    }

    /// A file without a pattern.
    private func source(in bed: TestBed, _ size: Int) throws -> (path: String, content: Data) {
        var bytes = Data(capacity: size)
        var state: UInt64 = 42
        while bytes.count < size {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state >> 8) { bytes.append(contentsOf: $0.prefix(7)) }
        }
        bytes.removeLast(bytes.count - size)
        let path = bed.folder.path + "/source"
        try bytes.write(to: URL(fileURLWithPath: path))
        return (path, bytes)
    }

    /// The draft of the IETF for one upload; like the draft's examples, it does not name the offset after a piece.
    private static let draft =
        """
        import os, sys, uvicorn

        """ + counting + """
            path = os.path.join(sys.argv[1], "1")
            state = {"upload-complete": "?0"}
            async def app(scope, receive, send):
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                async def answer(status, **fields):
                    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
                    await send({"type": "http.response.start", "status": status, "headers": pairs})
                    await send({"type": "http.response.body"})
                async def takes_all():
                    with open(path, "ab", buffering=0) as file:
                        while True:
                            message = await receive()
                            if message["type"] == "http.disconnect": return False
                            file.write(message.get("body", b""))
                            if not message.get("more_body"): return True
                if scope["method"] == "POST":
                    open(path, "xb").close()
                    await answer(201, location="/files/1", upload_complete="?0")
                elif scope["method"] == "HEAD":
                    offset = str(os.path.getsize(path))
                    await answer(204, upload_offset=offset, upload_complete=state["upload-complete"])
                elif headers["upload-offset"] != str(os.path.getsize(path)):
                    await answer(409, upload_complete=state["upload-complete"])
                elif await takes_all():
                    state["upload-complete"] = headers["upload-complete"]
                    await answer(204, upload_complete=state["upload-complete"])
            uvicorn.run(Counting(app), host="127.0.0.1", port=0, access_log=False, lifespan="off")
            """

    @Test(.timeLimit(.minutes(2)), arguments: ["tus", "resumable"])
    func uploadGoesOnAfterAKillAndSendsAtMostOneChunkAgain(style: String) async throws {
        let bed = try TestBed()
        let stored = bed.folder.path + "/stored"
        try FileManager.default.createDirectory(atPath: stored, withIntermediateDirectories: true)
        let script = style == "tus" ? Self.tus : Self.draft
        let (server, port) = try await start(bed, ["-c", script, stored], until: "running on")
        let (path, content) = try source(in: bed, Self.size)
        try bed.configure(
            "upload: {roots: [\(bed.folder.path)], chunk_size: 1MiB}", allow: ["127.0.0.1:\(port)"])
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(path)", "--set", "to=http://127.0.0.1:\(port)/files/", "--set",
                "protocol=\(style)",
                "--set", "max_bytes_per_second=4000000")
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
            told.withLock { $0 += line.hasPrefix("PATCH") ? Int(line.dropFirst(6)) ?? 0 : 0 }
            return told.withLock { $0 >= Self.size }
        }
        #expect(last != nil)
        let requests = server.output.all.map { $0.split(separator: " ") }
        #expect(requests.count { $0[0] == "POST" } == 1)
        let sent = requests.filter { $0[0] == "PATCH" }.reduce(0) { $0 + (Int($1[1]) ?? 0) }
        #expect(sent >= Self.size && sent <= Self.size + Self.chunk)
        server.signal(SIGKILL)
    }

    /// A job that is cancelled while it waits for its next attempt has none that could take the upload back.
    @Test(.timeLimit(.minutes(2)))
    func uploadOfAJobThatIsCancelledBetweenAttemptsIsTakenBack() async throws {
        let bed = try TestBed()
        let stored = bed.folder.path + "/stored"
        try FileManager.default.createDirectory(atPath: stored, withIntermediateDirectories: true)
        let (server, port) = try await start(bed, ["-c", Self.tus, stored], until: "running on")
        let (path, _) = try source(in: bed, Self.size)
        try bed.folder.write(
            """
            definitions:
              patient: {kind: upload, retry: {attempts: 3, delay: constant, initial: 1h}}
            """, to: "definitions.yaml")
        try bed.configure("upload: {roots: [\(bed.folder.path)], chunk_size: 1MiB}", allow: ["127.0.0.1:\(port)"])
        try await bed.withDaemon { _ in
            try await bed.enqueue(
                "patient", "--set", "file=\(path)", "--set", "to=http://127.0.0.1:\(port)/files/", "--set",
                "protocol=tus", "--set", "max_bytes_per_second=1000000", "--set", "timeout_ms=2500")
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
        let (server, port) = try await start(bed, ["-c", Self.tus, stored], until: "running on")
        let (path, _) = try source(in: bed, Self.size)
        try bed.configure(
            "drain_timeout: 0s\nupload: {roots: [\(bed.folder.path)], chunk_size: 1MiB}", allow: ["127.0.0.1:\(port)"])
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(path)", "--set", "to=http://127.0.0.1:\(port)/files/", "--set", "protocol=tus",
                "--set", "max_bytes_per_second=1000000")
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
        let (server, port) = try await start(
            bed, ["-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", "0"], until: "Running on")
        let site = "http://127.0.0.1:\(port)"
        let (path, content) = try source(in: bed, (26 << 20) + 77)
        try bed.folder.write("AKIDEXAMPLE:secret", to: "store")
        try bed.configure(
            "upload: {roots: [\(bed.folder.path)], credentials: \(bed.folder.path), credential_origins: ['store=\(site)'], part_size: 5MiB, chunk_size: 5MiB}",
            allow: ["127.0.0.1:\(port)"])
        #expect(try await ChildProcess.run("curl", ["-sf", "-X", "PUT", site + "/bucket"]).status == .exited(0))
        try await bed.withDaemon { daemon in
            try await bed.enqueue(
                "send", "--set", "file=\(path)", "--set", "to=\(site)/bucket/key", "--set", "protocol=s3", "--set",
                "credential=store", "--set", "max_bytes_per_second=16000000")
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
