import Foundation
import Samples
import Servers
import Testing

/// Runs tuspyserver (PyPI) behind uvicorn, with its files in a folder.
enum TusServer {
    static let program = Program.find("uvicorn").map { $0.dropLast("uvicorn".count) + "python" }.map(String.init)

    private static let script = """
        import sys, uvicorn
        from fastapi import FastAPI
        from tuspyserver import create_tus_router
        app = FastAPI()
        app.include_router(create_tus_router(prefix="files", files_dir=sys.argv[1]))
        uvicorn.run(app, host="127.0.0.1", port=0)
        """

    /// - Parameter body: Receives the URL for creations and the server's folder.
    static func with<T>(_ body: (_ creation: String, _ folder: String) async throws -> T) async throws -> T {
        let program = try #require(program)
        return try await withFolder { folder in
            try await Program.with(program, ["-c", script, folder], until: "Press CTRL+C") { server in
                try await body(server.address(after: "running on ") + "/files/", folder)
            }
        }
    }
}
