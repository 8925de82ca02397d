import Foundation

/// Another program, started and awaited.
enum Program {
    /// Runs a program to its end and returns the wall time in milliseconds.
    static func milliseconds(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws
        -> Double
    {
        let start = ContinuousClock.now
        let pid = try self.start(path, arguments, environment: environment)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { throw BenchError("waitpid: \(String(cString: strerror(errno)))") }
        }
        let milliseconds = (ContinuousClock.now - start) / .milliseconds(1)
        guard status == 0 else {
            throw BenchError("\(path) \(arguments.joined(separator: " ")) ended with status \(status)")
        }
        return milliseconds
    }

    /// Starts a program without its output.
    static func start(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Int32 {
        var pid = pid_t()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] =
            ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { strdup("\($0.key)=\($0.value)") } + [
                nil
            ]
        defer { for pointer in argv + envp { free(pointer) } }
        let code = posix_spawn(&pid, path, &actions, nil, &argv, &envp)
        guard code == 0 else { throw BenchError("cannot start \(path): \(String(cString: strerror(code)))") }
        return pid
    }

    /// The resident memory of a process in megabytes (10^6 bytes).
    static func residentMegabytes(_ pid: Int32) throws -> Double { try megabytes("VmRSS:", of: "\(pid)") }

    /// The most resident memory that this process has had, in megabytes (10^6 bytes).
    static func peakMegabytes() throws -> Double { try megabytes("VmHWM:", of: "self") }

    private static func megabytes(_ field: String, of process: String) throws -> Double {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix(field) {
            let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1]
            return (Double(kibibytes) ?? 0) * 1024 / 1_000_000
        }
        throw BenchError("no \(field) in /proc/\(process)/status")
    }

    /// Runs this program with other words, and reads the number that it prints.
    static func number(_ arguments: [String]) throws -> Double {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: own)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0,
            let number = Double(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else { throw BenchError("halyard-bench \(arguments.joined(separator: " ")) gave no number") }
        return number
    }

    /// Where this program stands.
    static var own: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }

    /// Where a program of this package stands: beside this one.
    static func sibling(_ name: String) -> String {
        URL(fileURLWithPath: own).deletingLastPathComponent().path + "/" + name
    }
}
