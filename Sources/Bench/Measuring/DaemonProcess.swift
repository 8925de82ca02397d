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
    /// - Parameters:
    ///   - program: The daemon's program. Default: `halyardd`.
    ///   - configuration: The configuration file.
    ///   - settings: Configuration, as environment variables.
    init(
        _ program: String = Program.sibling("halyardd"), in folder: String,
        definitions: String = "definitions:\n  unfurl: {kind: unfurl}\n", configuration: String = "{}\n",
        settings: [String: String] = [:]
    ) throws {
        self.folder = folder
        environment = [
            "HALYARD_DATABASE": folder + "/halyard.db", "HALYARD_SOCKET": folder + "/halyard.sock",
            "HALYARD_DEFINITIONS": folder + "/definitions.yaml", "HALYARD_SPOOL_DIRECTORY": folder + "/spool",
        ].merging(settings) { $1 }
        try definitions.write(toFile: folder + "/definitions.yaml", atomically: true, encoding: .utf8)
        try configuration.write(toFile: folder + "/halyard.yaml", atomically: true, encoding: .utf8)
        pid = try Program.start(
            program, ["--config", folder + "/halyard.yaml"], environment: environment,
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

    /// The daemon and its workers, without the sandboxes that read pages.
    private var processes: [Int32] {
        get throws {
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
            let children = try tasks.flatMap { task in
                try String(contentsOfFile: "/proc/\(pid)/task/\(task)/children", encoding: .utf8).split(separator: " ")
            }
            return [pid] + children.compactMap { Int32($0) }
        }
    }

    var hasWorkers: Bool { get throws { try processes.count > 1 } }

    /// The CPU time in milliseconds that the daemon and its workers have used so far.
    func cpuMilliseconds() throws -> Double { try processes.reduce(0) { try $0 + Program.cpuMilliseconds(of: $1) } }

    /// The peak memory of the daemon and its workers, in megabytes.
    func peakMegabytes() throws -> Double { try processes.reduce(0) { try $0 + Program.peakMegabytes($1) } }

    /// Enqueues a job for each line with `halyard enqueue --lines`.
    func enqueue(_ lines: [String]) throws {
        let file = folder + "/lines"
        try lines.map { $0 + "\n" }.joined().write(toFile: file, atomically: true, encoding: .utf8)
        _ = try Program.milliseconds(
            Program.sibling("halyard"), ["enqueue", "--lines", file], environment: environment)
    }
}
