import Foundation
import Programs
import Testing

/// Third-party servers, or small ones of a few lines, that run on the Python that `scripts/test` installs.
///
/// Each prints method, path and received bytes of every request, including broken ones. While the file `hold` exists,
/// the answer to a request that completes an upload is held until somebody writes into the pipe `release`; the server
/// then prints `held`.
enum UploadServer {
    private static let python = ["\(repository)/.build/test-servers/bin/python"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    static var isInstalled: Bool { python != nil }

    /// - Parameters:
    ///   - kind: `plain`, `tus`, `resumable` or `s3`.
    ///   - folder: The folder for received files. `hold` and `release` are next to it.
    static func start(
        _ kind: String, storing folder: String, in bed: TestBed
    ) async throws -> (server: ChildProcess, port: String) {
        let script = common + (["plain": plain, "tus": tus, "resumable": draft, "s3": s3][kind] ?? "")
        let server = try bed.spawn(try #require(python), ["-c", script, folder])
        let line = try #require(
            await server.errors.first { $0.lowercased().contains("running on http://127") }?.line,
            "\(server.errors.text)")
        let port = try #require(line.components(separatedBy: "127.0.0.1:").dropFirst().first).prefix { $0.isNumber }
        return (server, String(port))
    }

    private static let common = """
        import asyncio, os, sys
        stored = sys.argv[1]
        beside = os.path.dirname(stored)
        def hold():
            if os.path.exists(os.path.join(beside, "hold")):
                print("held", flush=True)
                open(os.path.join(beside, "release")).read()
        class Counting:
            def __init__(self, app, completes): self.app, self.completes = app, completes
            async def __call__(self, scope, receive, send):
                taken = 0
                async def counted():
                    nonlocal taken
                    message = await receive()
                    taken += len(message.get("body", b""))
                    return message
                async def held(message):
                    if message["type"] == "http.response.start":
                        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                        if self.completes(scope["method"], headers): await asyncio.to_thread(hold)
                    await send(message)
                try:
                    await self.app(scope, counted, held)
                finally:
                    if scope["type"] == "http": print(scope["method"], scope["path"], taken, flush=True)
        def serve(app, completes):
            import uvicorn
            uvicorn.run(Counting(app, completes), host="127.0.0.1", port=0, access_log=False)

        """

    private static let plain = """
        async def app(scope, receive, send):
            if scope["type"] != "http": return
            while (await receive()).get("more_body"): pass
            status = 404 if scope["method"] == "HEAD" else 201
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body"})
        serve(app, lambda method, headers: method in ("PUT", "POST"))
        """

    private static let tus = """
        from fastapi import FastAPI
        from tuspyserver import create_tus_router
        app = FastAPI()
        app.include_router(create_tus_router(prefix="files", files_dir=stored))
        lengths = []
        def completes(method, headers):
            if method == "POST": lengths.append(int(headers["upload-length"]))
            return method == "PATCH" and int(headers["upload-offset"]) + int(headers["content-length"]) == lengths[-1]
        serve(app, completes)
        """

    /// The IETF draft; as in the draft's examples, the answer to a piece does not contain the offset.
    private static let draft = """
        uploads = []
        async def app(scope, receive, send):
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            async def answer(status, **fields):
                pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
                await send({"type": "http.response.start", "status": status, "headers": pairs})
                await send({"type": "http.response.body"})
            async def takes_all(path):
                with open(path, "ab", buffering=0) as file:
                    while True:
                        message = await receive()
                        if message["type"] == "http.disconnect": return False
                        file.write(message.get("body", b""))
                        if not message.get("more_body"): return True
            if scope["type"] != "http": return
            if scope["method"] == "POST":
                uploads.append("?0")
                open(os.path.join(stored, str(len(uploads))), "xb").close()
                return await answer(201, location="/files/%d" % len(uploads), upload_complete="?0")
            number = int(scope["path"].split("/")[-1])
            path = os.path.join(stored, str(number))
            if scope["method"] == "HEAD":
                offset = str(os.path.getsize(path))
                await answer(204, upload_offset=offset, upload_complete=uploads[number - 1])
            elif headers["upload-offset"] != str(os.path.getsize(path)):
                await answer(409, upload_complete=uploads[number - 1])
            elif await takes_all(path):
                uploads[number - 1] = headers["upload-complete"]
                await answer(204, upload_complete=uploads[number - 1])
        serve(app, lambda method, headers: headers.get("upload-complete") == "?1")
        """

    private static let s3 = """
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import run_simple
        app = DomainDispatcherApplication(create_backend_app)
        def held(environ, start):
            parts = list(app(environ, start))
            method, query = environ["REQUEST_METHOD"], environ.get("QUERY_STRING", "")
            print(method, environ["PATH_INFO"] + "?" + query, environ.get("CONTENT_LENGTH") or 0, flush=True)
            if environ["PATH_INFO"].count("/") > 1:
                if method == "PUT" and "partNumber" not in query or method == "POST" and "uploadId" in query: hold()
            return parts
        run_simple("127.0.0.1", 0, held, threaded=True)
        """
}

extension TestBed {
    /// Creates a file with pseudo-random content.
    func uploadSource(_ size: Int) throws -> (path: String, content: Data) {
        var bytes = Data(capacity: size)
        var state: UInt64 = 42
        while bytes.count < size {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            withUnsafeBytes(of: state >> 8) { bytes.append(contentsOf: $0.prefix(7)) }
        }
        bytes.removeLast(bytes.count - size)
        let path = folder.path + "/source"
        try bytes.write(to: URL(fileURLWithPath: path))
        return (path, bytes)
    }
}
