import Foundation

/// A server from elsewhere that a test starts, waits for, and ends.
final class Program: Sendable {
    struct NotStarted: Error {
        var output: String
    }

    private let child: pid_t
    /// What it had written when it was ready.
    let output: String

    /// Returns when the program has written `sign`.
    init(_ path: String, _ arguments: [String], until sign: String) throws {
        var pipes: [Int32] = [0, 0]
        guard pipe(&pipes) == 0 else { throw NotStarted(output: "no pipe") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO)
        posix_spawn_file_actions_addclose(&actions, pipes[0])
        let words = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        var started: pid_t = 0
        let failure = posix_spawn(&started, path, &actions, nil, words + [nil], environ)
        close(pipes[1])
        guard failure == 0 else {
            close(pipes[0])
            throw NotStarted(output: String(cString: strerror(failure)))
        }
        child = started
        var output = ""
        var space = [UInt8](repeating: 0, count: 4096)
        while !output.contains(sign) {
            let count = read(pipes[0], &space, space.count)
            guard count > 0 else {
                kill(started, SIGKILL)
                waitpid(started, nil, 0)
                close(pipes[0])
                throw NotStarted(output: output)
            }
            output += String(decoding: space[..<count], as: UTF8.self)
        }
        self.output = output
        // Kept open and read, so that what the program writes later neither blocks nor ends it.
        let reader = pipes[0]
        Thread.detachNewThread {
            var space = [UInt8](repeating: 0, count: 4096)
            while read(reader, &space, space.count) > 0 {}
            close(reader)
        }
    }

    func stop() {
        kill(child, SIGKILL)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
    }

    /// The program of that name in PATH.
    static func find(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
