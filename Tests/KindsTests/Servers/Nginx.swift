import Foundation
import NIOCore
import NIOPosix
import Programs

/// A real nginx on loopback with a folder that takes PUT, plain and over TLS with a certificate that nobody has signed.
struct Nginx {
    static let program = "/usr/sbin/nginx"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let folder: String
    let port: Int
    let tlsPort: Int

    var files: String { folder + "/files" }
    var origin: String { "http://127.0.0.1:\(port)" }
    /// The certificate, which is its own authority.
    var certificate: String { folder + "/server.pem" }

    static func with<T>(_ body: (Nginx) async throws -> T) async throws -> T {
        try await withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/files", withIntermediateDirectories: true)
            try await run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                    folder + "/key.pem", "-out", folder + "/server.pem",
                ])
            let nginx = try await start(in: folder, attempts: 5)
            do {
                let result = try await body(nginx)
                try await nginx.stop()
                return result
            } catch {
                try await nginx.stop()
                throw error
            }
        }
    }

    private func stop() async throws {
        try await Self.run(Self.program, ["-p", folder, "-c", folder + "/nginx.conf", "-s", "stop"])
    }

    private static func start(in folder: String, attempts: Int) async throws -> Nginx {
        let nginx = Nginx(folder: folder, port: try await freePort(), tlsPort: try await freePort())
        try nginx.configuration.write(toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
        do {
            // Returns when the sockets are bound and the server is in the background.
            try await run(program, ["-p", folder, "-c", folder + "/nginx.conf"])
            return nginx
        } catch {
            // Somebody else may have taken the port since.
            if attempts <= 1 { throw error }
            return try await start(in: folder, attempts: attempts - 1)
        }
    }

    private var configuration: String {
        """
        worker_processes 1;
        \(getuid() == 0 ? "user root;" : "")
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log;
        events { worker_connections 256; }
        http {
          access_log off;
          client_max_body_size 0;
          client_body_temp_path \(folder)/body;
          proxy_temp_path \(folder)/proxy; fastcgi_temp_path \(folder)/fastcgi; uwsgi_temp_path \(folder)/uwsgi;
          scgi_temp_path \(folder)/scgi;
          server {
            listen 127.0.0.1:\(port);
            listen 127.0.0.1:\(tlsPort) ssl;
            ssl_protocols TLSv1.3;
            ssl_certificate \(folder)/server.pem;
            ssl_certificate_key \(folder)/key.pem;
            root \(files);
            location /host { default_type text/plain; return 200 $host; }
            location /strict { add_header Strict-Transport-Security "max-age=60"; return 204; }
            location /small/ { dav_methods PUT; client_max_body_size 1k; }
            location /readonly/ { limit_except GET { deny all; } }
            location / { dav_methods PUT DELETE; create_full_put_path on; gzip on; gzip_types *; gzip_min_length 1; }
          }
        }
        """
    }

    struct ProgramFailed: Error {
        var program: String
        var status: ChildProcess.End?
        var errors: String
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let (status, _, errors) = try await ChildProcess.run(program, arguments)
        guard status == .exited(0) else { throw ProgramFailed(program: program, status: status, errors: errors) }
    }

    /// A port that was free a moment ago.
    static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).bind(
            host: "127.0.0.1", port: 0
        ).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close().get()
        return port
    }
}
