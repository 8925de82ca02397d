import Foundation
import Glibc
import Synchronization

/// A real process: what it writes, and how it ends.
final class ChildProcess: Sendable {
    enum End: Sendable, Equatable {
        case exited(Int32)
        case killed(by: Int32)
    }

    let pid: pid_t
    let output: Lines
    let errors: Lines
    private let ended: Lines
    private let end = Mutex<End?>(nil)
    private static let spawning = Mutex(())

    struct Failure: Error {
        var call: String
        var code: Int32
    }

    /// - Parameter environment: All that the process has, besides `PATH`.
    init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String? = nil)
        throws
    {
        var out: [Int32] = [0, 0]
        var err: [Int32] = [0, 0]
        var pid: pid_t = 0
        // One at a time: a child that begins between the making of a pipe and its flag would hold it open.
        let code = try Self.spawning.withLock { _ in
            guard pipe(&out) == 0, pipe(&err) == 0 else { throw Failure(call: "pipe", code: errno) }
            for end in out + err { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_adddup2(&actions, out[1], 1)
            posix_spawn_file_actions_adddup2(&actions, err[1], 2)
            var variables = environment
            variables["PATH"] = variables["PATH"] ?? "/usr/local/bin:/usr/bin:/bin:/usr/sbin"
            var argv = ([program] + arguments).map { strdup($0) } + [nil]
            var envp = variables.map { strdup("\($0)=\($1)") } + [nil]
            defer { for text in argv + envp { free(text) } }
            let code = posix_spawnp(&pid, program, &actions, nil, &argv, &envp)
            Glibc.close(out[1])
            Glibc.close(err[1])
            return code
        }
        guard code == 0 else {
            Glibc.close(out[0])
            Glibc.close(err[0])
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
    func signal(_ number: Int32) {
        end.withLock { end in
            if end == nil { kill(pid, number) }
        }
    }

    /// Waits until it has ended and all that it wrote is read. Nil when the test was cancelled first.
    func waitForEnd() async -> End? {
        guard await ended.first(where: { _ in true }) != nil else { return nil }
        await output.first { _ in false }
        await errors.first { _ in false }
        return end.withLock { $0 }
    }

    /// Runs a program to its end.
    static func run(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], input: String? = nil
    ) async throws -> (status: End?, output: String, errors: String) {
        let process = try ChildProcess(program, arguments, environment: environment, input: input)
        let status = await process.waitForEnd()
        if status == nil { process.signal(SIGKILL) }
        return (status, process.output.text, process.errors.text)
    }
}

/// A program of this package, built beside the tests.
func binary(_ name: String) -> String {
    let tests =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    return tests.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/" + name
}
