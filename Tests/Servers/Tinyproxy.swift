import Foundation
import Programs
import Samples

/// A real proxy on loopback that connects only to the literal address 127.0.0.1.
package enum Tinyproxy {
    package static let program = "/usr/bin/tinyproxy"
    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    /// - Parameters:
    ///   - address: The loopback address on which it listens.
    ///   - connectPort: The only port for CONNECT; nil for all.
    ///   - body: Receives the proxy's address.
    package static func with<T>(
        at address: String = "127.0.0.1", user: String? = nil, connectPort: Int? = nil,
        _ body: (_ address: String) async throws -> T
    ) async throws -> T {
        try await withFolder { folder in
            // The proxy refuses names, even one that resolves to this address.
            try #"^127\.0\.0\.1$"#.write(toFile: folder + "/allowed", atomically: true, encoding: .utf8)
            return try await start(in: folder, address, user, connectPort, attempts: 5, body)
        }
    }

    private static func start<T>(
        in folder: String, _ address: String, _ user: String?, _ connectPort: Int?, attempts: Int,
        _ body: (String) async throws -> T
    ) async throws -> T {
        let port = try Nginx.freePort()
        let configuration = """
            Port \(port)
            Listen \(address)
            Timeout 60
            LogLevel Info
            MaxClients 50
            Filter "\(folder)/allowed"
            FilterDefaultDeny Yes
            FilterExtended On
            \(user.map { "BasicAuth \($0)" } ?? "")
            \(connectPort.map { "ConnectPort \($0)" } ?? "")

            """
        try configuration.write(toFile: folder + "/proxy.conf", atomically: true, encoding: .utf8)
        do {
            return try await Program.with(
                program, ["-d", "-c", folder + "/proxy.conf"], until: "Accepting connections"
            ) { _ in
                try await body("http://\(address):\(port)")
            }
        } catch let error as Program.NotStarted {
            // Another program may have taken the port meanwhile.
            if attempts <= 1 { throw error }
            return try await start(in: folder, address, user, connectPort, attempts: attempts - 1, body)
        }
    }
}
