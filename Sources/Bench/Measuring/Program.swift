import Foundation

/// Runs other programs.
enum Program {
    /// Runs a program to its end and returns the wall time in milliseconds.
    static func milliseconds(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws
        -> Double
    {
        try cost(path, arguments, environment: environment).milliseconds
    }

    /// Runs a program to its end and returns its wall time and its CPU time, user and system.
    static func cost(
        _ path: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> (milliseconds: Double, cpuMilliseconds: Double) {
        let start = ContinuousClock.now
        let pid = try self.start(path, arguments, environment: environment)
        var status: Int32 = 0
        var usage = rusage()
        while wait4(pid, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw BenchError("wait4: \(String(cString: strerror(errno)))") }
        }
        let milliseconds = start.milliseconds
        guard status == 0 else {
            throw BenchError("\(path) \(arguments.joined(separator: " ")) ended with status \(status)")
        }
        let seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
        let microseconds = Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        return (milliseconds, seconds * 1000 + microseconds / 1000)
    }

    /// The CPU time that a running process has used so far, user and system.
    static func cpuMilliseconds(of pid: Int32) throws -> Double {
        let line = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // The name in parentheses may contain anything. The first field after it is the third of the line.
        let fields = line[(line.lastIndex(of: ")") ?? line.startIndex)...].split(separator: " ").dropFirst()
        guard fields.count > 12, let user = Double(fields[fields.startIndex + 11]),
            let system = Double(fields[fields.startIndex + 12])
        else { throw BenchError("no CPU time in /proc/\(pid)/stat") }
        return (user + system) * 1000 / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Starts a program, and discards its output and by default also its errors.
    static func start(
        _ path: String, _ arguments: [String], environment: [String: String] = [:], errors: String = "/dev/null"
    ) throws -> Int32 {
        var pid = pid_t()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // Threads of libdispatch block most signals, and a new program would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] =
            ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { strdup("\($0.key)=\($0.value)") } + [
                nil
            ]
        defer { for pointer in argv + envp { free(pointer) } }
        let code = posix_spawn(&pid, path, &actions, &attributes, &argv, &envp)
        guard code == 0 else { throw BenchError("cannot start \(path): \(String(cString: strerror(code)))") }
        return pid
    }

    /// The resident memory of a process in megabytes (10^6 bytes).
    static func residentMegabytes(_ pid: Int32) throws -> Double { try megabytes("VmRSS:", of: "\(pid)") }

    /// The peak resident memory of a process, in megabytes (10^6 bytes).
    static func peakMegabytes(_ pid: Int32) throws -> Double { try megabytes("VmHWM:", of: "\(pid)") }

    /// The proportional memory of a process in megabytes: pages that several processes use count in parts.
    static func proportionalMegabytes(_ pid: Int32) throws -> Double {
        try megabytes("Pss:", in: "/proc/\(pid)/smaps_rollup")
    }

    private static func megabytes(_ field: String, of process: String) throws -> Double {
        try megabytes(field, in: "/proc/\(process)/status")
    }

    private static func megabytes(_ field: String, in file: String) throws -> Double {
        let status = try String(contentsOfFile: file, encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix(field) {
            let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" })[1]
            return (Double(kibibytes) ?? 0) * 1024 / 1_000_000
        }
        throw BenchError("no \(field) in \(file)")
    }

    /// The path of this program.
    static var own: String { URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path }

    /// Returns the path of another program of this package, which is in the same folder.
    static func sibling(_ name: String) -> String {
        URL(fileURLWithPath: own).deletingLastPathComponent().path + "/" + name
    }
}
