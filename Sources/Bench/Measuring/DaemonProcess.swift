import Foundation

/// A daemon of this build in its own process, with its database and its socket in a folder.
struct DaemonProcess {
    let environment: [String: String]
    private let process: Process

    var socket: String { environment["HALYARD_SOCKET"]! }
    var pid: Int32 { process.processIdentifier }

    /// Starts a daemon, and waits until it accepts connections. Its log goes to the file `log` in the folder.
    ///
    /// - Parameter settings: Configuration, as environment variables.
    init(in folder: String, definitions: String, settings: [String: String] = [:]) throws {
        environment = [
            "HALYARD_DATABASE": folder + "/halyard.db", "HALYARD_SOCKET": folder + "/halyard.sock",
            "HALYARD_DEFINITIONS": folder + "/definitions.yaml", "HALYARD_SPOOL_DIRECTORY": folder + "/spool",
        ].merging(settings) { $1 }
        try definitions.write(toFile: folder + "/definitions.yaml", atomically: true, encoding: .utf8)
        try "{}\n".write(toFile: folder + "/halyard.yaml", atomically: true, encoding: .utf8)
        try Data().write(to: URL(fileURLWithPath: folder + "/log"))
        process = Process()
        process.executableURL = URL(fileURLWithPath: Program.sibling("halyardd"))
        process.arguments = ["--config", folder + "/halyard.yaml"]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardError = FileHandle(forWritingAtPath: folder + "/log")
        try process.run()
        try Self.awaitSocket(folder + "/halyard.sock")
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// Waits until the daemon accepts connections, for at most ten seconds.
    private static func awaitSocket(_ path: String) throws {
        for _ in 0..<1000 {
            let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
            let code = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if code == 0 { return }
            usleep(10_000)
        }
        throw BenchError("halyardd did not listen on \(path)")
    }
}
