import Foundation

/// A server from elsewhere that a test starts, waits for, and ends.
final class Program: Sendable {
    struct NotStarted: Error {
        var output: String
    }

    private let child: pid_t
    /// What it had written when it was ready.
    let output: String

    /// Runs `body` beside a program that has written `sign`. Starting and stopping block threads of their own only.
    static func with<T>(
        _ path: String, _ arguments: [String], until sign: String, _ body: (Program) async throws -> T
    ) async throws -> T {
        let program = try await onThread { try Program(path, arguments, until: sign) }
        do {
            let result = try await body(program)
            try await onThread { program.stop() }
            return result
        } catch {
            try await onThread { program.stop() }
            throw error
        }
    }

    private init(_ path: String, _ arguments: [String], until sign: String) throws {
        var pipes: [Int32] = [0, 0]
        guard pipe(&pipes) == 0 else { throw NotStarted(output: "no pipe") }
        // No other child may hold the writing end open.
        for end in pipes { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], STDERR_FILENO)
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

    private func stop() {
        kill(child, SIGKILL)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
    }

    /// The address that it wrote after `sign`.
    func address(after sign: String) -> String {
        String((output.components(separatedBy: sign).dropFirst().first ?? "").prefix { !$0.isWhitespace })
    }

    /// The program of that name: among those that `scripts/test` installs for the tests, or in PATH.
    static func find(_ name: String) -> String? {
        let folders =
            ["\(repository)/.build/test-servers/bin"]
            + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The folder of Package.swift.
    private static let repository = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
}

/// Runs what blocks on a thread of its own: the threads that all tests share are few.
func onThread<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
    }
}
