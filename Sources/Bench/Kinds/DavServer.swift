import Foundation

/// nginx on the loopback interface, with its files in memory. It accepts PUT in `/inbox/`. It redirects `/1`
/// four times and then answers with text, and redirects `/p1` four times and then answers with a page.
struct DavServer {
    let folder: String
    let port: UInt16
    let tlsPort: UInt16

    var tlsSite: String { "https://localhost:\(tlsPort)" }
    /// The server's self-signed certificate.
    var certificate: String { folder + "/server.pem" }

    var site: String { "http://127.0.0.1:\(port)" }

    private var configuration: String {
        """
        daemon off;
        \(getuid() == 0 ? "user root;" : "")
        pid \(folder)/nginx.pid;
        error_log \(folder)/error.log;
        worker_processes 1;
        events { worker_connections 1024; }
        http {
            access_log off;
            keepalive_requests 1000000;
            client_body_temp_path \(folder)/body;
            proxy_temp_path \(folder)/temp; fastcgi_temp_path \(folder)/temp; uwsgi_temp_path \(folder)/temp;
            scgi_temp_path \(folder)/temp;
            server {
                listen 127.0.0.1:\(port);
                listen 127.0.0.1:\(tlsPort) ssl;
                ssl_certificate \(certificate);
                ssl_certificate_key \(folder)/server.key;
                root \(folder);
                location = /1 { return 301 /2$is_args$args; }
                location = /2 { return 302 /3$is_args$args; }
                location = /3 { return 307 /4$is_args$args; }
                location = /4 { return 308 /5$is_args$args; }
                location = /5 { default_type text/plain; return 200 "there"; }
                location = /p1 { return 301 /p2$is_args$args; }
                location = /p2 { return 302 /p3$is_args$args; }
                location = /p3 { return 307 /p4$is_args$args; }
                location = /p4 { return 308 /p5$is_args$args; }
                location = /p5 {
                    default_type text/html;
                    return 200 "<!doctype html><title>There</title><link rel=canonical href=/there><p>You are there.";
                }
                location /inbox/ { dav_methods PUT; create_full_put_path on; client_max_body_size 0; }
            }
        }
        """
    }

    static func with<Value>(_ body: (DavServer) async throws -> Value) async throws -> Value {
        let scratch = try Scratch(in: "/dev/shm")
        let server = DavServer(folder: scratch.path, port: try freePort(), tlsPort: try freePort())
        _ = try Program.milliseconds(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost", "-keyout", scratch.file("server.key"), "-out", server.certificate,
            ])
        let file = scratch.file("nginx.conf")
        try server.configuration.write(toFile: file, atomically: true, encoding: .utf8)
        let nginx = Process()
        nginx.executableURL = URL(fileURLWithPath: "/usr/sbin/nginx")
        nginx.arguments = ["-p", scratch.path, "-c", file]
        nginx.standardError = FileHandle(forWritingAtPath: "/dev/null")
        try nginx.run()
        defer {
            nginx.terminate()
            nginx.waitUntilExit()
        }
        try server.awaitStart()
        return try await body(server)
    }

    /// Waits until nginx accepts connections, for at most ten seconds.
    private func awaitStart() throws {
        for _ in 0..<1000 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = Self.loopback(port)
            let code = Self.call(&address) { connect(descriptor, $0, $1) }
            if code == 0 { return }
            usleep(10_000)
        }
        throw BenchError("nginx did not listen on port \(port)")
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound =
            call(&address) { bind(descriptor, $0, $1) } == 0
            && call(&address) { name, _ in
                getsockname(descriptor, UnsafeMutablePointer(mutating: name), &length)
            } == 0
        guard isBound else { throw BenchError("no free port: \(String(cString: strerror(errno)))") }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }

    private static func call(
        _ address: inout sockaddr_in, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
