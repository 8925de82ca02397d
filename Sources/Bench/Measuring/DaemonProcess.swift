import Foundation

/// A daemon of this build in its own process, with its database and its socket in a folder.
struct DaemonProcess {
    let folder: String
    let environment: [String: String]
    let pid: Int32

    var socket: String { folder + "/halyard.sock" }

    /// Starts a daemon, and waits up to ten seconds until it accepts connections. Its log goes to the file `log` in the
    /// folder.
    ///
    /// - Parameter settings: Configuration, as environment variables.
    init(
        in folder: String, definitions: String = "definitions:\n  unfurl: {kind: unfurl}\n",
        settings: [String: String] = [:]
    ) throws {
        self.folder = folder
        environment = [
            "HALYARD_DATABASE": folder + "/halyard.db", "HALYARD_SOCKET": folder + "/halyard.sock",
            "HALYARD_DEFINITIONS": folder + "/definitions.yaml", "HALYARD_SPOOL_DIRECTORY": folder + "/spool",
        ].merging(settings) { $1 }
        try definitions.write(toFile: folder + "/definitions.yaml", atomically: true, encoding: .utf8)
        try "{}\n".write(toFile: folder + "/halyard.yaml", atomically: true, encoding: .utf8)
        pid = try Program.start(
            Program.sibling("halyardd"), ["--config", folder + "/halyard.yaml"], environment: environment,
            errors: folder + "/log")
        for _ in 0..<1000 {
            // The call fails until the daemon listens.
            if (try? RawCaller(socket)) != nil { return }
            usleep(10_000)
        }
        throw BenchError("halyardd did not listen on \(socket)")
    }

    func stop() {
        kill(pid, SIGTERM)
        waitpid(pid, nil, 0)
    }

    /// Enqueues a job for each line with `halyard enqueue --lines`.
    func enqueue(_ lines: [String]) throws {
        let file = folder + "/lines"
        try lines.map { $0 + "\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
        _ = try Program.milliseconds(
            Program.sibling("halyard"), ["enqueue", "--lines", file], environment: environment)
    }
}
