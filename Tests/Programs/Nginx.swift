import Foundation
import Glibc

/// A real nginx on the loopback interface, plain and over TLS with a self-signed certificate.
public struct Nginx: Sendable {
    public static let program = "/usr/sbin/nginx"
    public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    /// The folder of its configuration, its certificate and its other files.
    public let folder: String
    public let port: Int
    public let tlsPort: Int

    /// The folder whose files it serves.
    public var files: String { folder + "/files" }
    public var origin: String { "http://127.0.0.1:\(port)" }
    public var tlsOrigin: String { "https://localhost:\(tlsPort)" }
    /// The certificate, which is its own authority.
    public var certificate: String { folder + "/server.pem" }

    /// Runs nginx while `body` runs.
    ///
    /// - Parameters:
    ///   - folder: An empty folder.
    ///   - locations: The `location` blocks of its only server.
    public static func with<T>(
        in folder: String, locations: String, _ body: (Nginx) async throws -> T
    ) async throws -> T {
        try FileManager.default.createDirectory(atPath: folder + "/files", withIntermediateDirectories: true)
        try await run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                folder + "/key.pem", "-out", folder + "/server.pem",
            ])
        let nginx = try await start(in: folder, locations, attempts: 5)
        do {
            let result = try await body(nginx)
            try await nginx.stop()
            return result
        } catch {
            try await nginx.stop()
            throw error
        }
    }

    private func stop() async throws {
        try await Self.run(Self.program, ["-p", folder, "-c", folder + "/nginx.conf", "-s", "stop"])
    }

    private static func start(in folder: String, _ locations: String, attempts: Int) async throws -> Nginx {
        let nginx = Nginx(folder: folder, port: try freePort(), tlsPort: try freePort())
        try nginx.configuration(locations).write(toFile: folder + "/nginx.conf", atomically: true, encoding: .utf8)
        do {
            // Returns when the sockets are bound and the server is in the background.
            try await run(program, ["-p", folder, "-c", folder + "/nginx.conf"])
            return nginx
        } catch {
            // In the meantime another process may have bound the port.
            if attempts <= 1 { throw error }
            return try await start(in: folder, locations, attempts: attempts - 1)
        }
    }

    private func configuration(_ locations: String) -> String {
        """
        worker_processes 1;
        \(getuid() == 0 ? "user root;" : "")
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log;
        events { worker_connections 1024; }
        http {
          access_log off;
          keepalive_requests 1000000;
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
            \(locations)
          }
        }
        """
    }

    public struct ProgramFailed: Error {
        public var program: String
        public var status: ChildProcess.End?
        public var errors: String
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let (status, _, errors) = try await ChildProcess.run(program, arguments)
        guard status == .exited(0) else { throw ProgramFailed(program: program, status: status, errors: errors) }
    }

    /// A port that was free a moment ago.
    public static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(descriptor, name, length) == 0 && getsockname(descriptor, name, &length) == 0
            }
        }
        guard isBound else { throw ChildProcess.Failure(call: "bind", code: errno) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
