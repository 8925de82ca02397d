import CLinux
import Foundation
import Glibc
import Synchronization

/// A real process: what it writes, and how it ends. Foundation's `Process` crashes now and then where many begin at once.
public final class ChildProcess: Sendable {
    public enum End: Sendable, Equatable {
        case exited(Int32)
        case killed(by: Int32)
    }

    public struct Failure: Error {
        public var call: String
        public var code: Int32
    }

    public let pid: pid_t
    public let output: Lines
    public let errors: Lines
    private let ended: Lines
    private let end = Mutex<End?>(nil)

    /// - Parameters:
    ///   - program: A path, or a name that is looked for in this process's `PATH`.
    ///   - environment: All that the process has, besides `PATH`.
    ///   - input: All that it reads.
    ///   - descriptor: What it reads instead of `input`.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String = "",
        reading descriptor: Int32? = nil
    ) throws {
        // A file that has no name any more: nobody has to write while the process reads.
        guard let file = tmpfile() else { throw Failure(call: "tmpfile", code: errno) }
        defer { fclose(file) }
        let bytes = Array(input.utf8)
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count, fseek(file, 0, SEEK_SET) == 0 else {
            throw Failure(call: "write", code: errno)
        }
        var out: [Int32] = [0, 0]
        var err: [Int32] = [0, 0]
        // No other child gets them. What is made descriptor 1 or 2 below stays open in this one.
        guard pipe2(&out, O_CLOEXEC) == 0 else { throw Failure(call: "pipe2", code: errno) }
        guard pipe2(&err, O_CLOEXEC) == 0 else {
            let code = errno
            for end in out { Glibc.close(end) }
            throw Failure(call: "pipe2", code: code)
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, descriptor ?? fileno(file), 0)
        posix_spawn_file_actions_adddup2(&actions, out[1], 1)
        posix_spawn_file_actions_adddup2(&actions, err[1], 2)
        // Nothing else that a test has open: a connection that it closes must be closed.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // Threads of libdispatch block nearly all signals, and a child would inherit that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var variables = environment
        variables["PATH"] = variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin:/usr/sbin"
        var argv = ([program] + arguments).map { strdup($0) } + [nil]
        var envp = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, program, &actions, &attributes, &argv, &envp)
        for end in [out[1], err[1]] { Glibc.close(end) }
        guard code == 0 else {
            for end in [out[0], err[0]] { Glibc.close(end) }
            throw Failure(call: "posix_spawn \(program)", code: code)
        }
        self.pid = pid
        output = Lines.reading(out[0])
        errors = Lines.reading(err[0])
        let ended = Lines()
        self.ended = ended
        Thread.detachNewThread { [self, pid] in
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
            let signal = status & 0x7f
            end.withLock { $0 = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(by: signal) }
            ended.append("ended")
        }
    }

    /// Only while it runs: the number may belong to another process afterwards.
    public func signal(_ number: Int32) {
        end.withLock { end in
            if end == nil { kill(pid, number) }
        }
    }

    /// Ends it, whatever it does.
    public func stop() async {
        signal(SIGKILL)
        _ = await waitForEnd()
    }

    /// Waits until it has ended and all that it wrote is read. Nil when the test was cancelled first.
    public func waitForEnd() async -> End? {
        guard await ended.first(where: { _ in true }) != nil else { return nil }
        await output.first { _ in false }
        await errors.first { _ in false }
        return end.withLock { $0 }
    }

    /// Runs a program to its end, which comes at once when the test is cancelled.
    ///
    /// - Returns: What it wrote, without the line feed at the end.
    @discardableResult
    public static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String = ""
    ) async throws -> (status: End?, output: String, errors: String) {
        let process = try ChildProcess(program, arguments, environment: environment, input: input)
        let status = await process.waitForEnd()
        if status == nil { process.signal(SIGKILL) }
        return (status, process.output.text, process.errors.text)
    }
}

/// A program of this package, built beside the tests.
public func binary(_ name: String) -> String {
    let tests =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return tests.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/" + name
}
