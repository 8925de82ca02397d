import CLinux
import Glibc
import WorkerProtocol

/// The process of a checked program, with pipes to its standard input and output. All calls block the thread.
///
/// The process leads its own group, which is killed at the end, since a shell script may start other programs.
final class ProgramProcess {
    private let pid: pid_t
    private var input: Int32
    private let output: Int32
    private var pending: [UInt8] = []
    private var lines = LineReader()
    private var received: [[UInt8]] = []
    private var hasOutputEnded = false
    private var status: Int32?

    init(_ command: [String]) throws(Finding) {
        // A failure must not reach `deinit`, which would signal a process that does not exist.
        (pid, input, output) = try Self.start(command)
        for descriptor in [input, output] { _ = fcntl(descriptor, F_SETFL, O_NONBLOCK) }
    }

    private static func start(_ command: [String]) throws(Finding) -> (pid: pid_t, input: Int32, output: Int32) {
        var toProgram: [Int32] = [-1, -1]
        var fromProgram: [Int32] = [-1, -1]
        guard pipe2(&toProgram, O_CLOEXEC) == 0 else { throw Finding("no pipe can be created; free some descriptors") }
        guard pipe2(&fromProgram, O_CLOEXEC) == 0 else {
            for end in toProgram { close(end) }
            throw Finding("no pipe can be created; free some descriptors")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toProgram[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromProgram[1], 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of libdispatch block nearly all signals, and this process ignores SIGPIPE. A child would inherit both.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        var ignored = sigset_t()
        sigemptyset(&ignored)
        sigaddset(&ignored, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setsigdefault(&attributes, &ignored)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, command[0], &actions, &attributes, &arguments, environ)
        close(toProgram[0])
        close(fromProgram[1])
        guard code == 0 else {
            close(toProgram[1])
            close(fromProgram[0])
            throw Finding("\(command[0]) cannot be started: \(String(cString: strerror(code)))")
        }
        return (pid, toProgram[1], fromProgram[0])
    }

    deinit {
        // Also ends programs that a script started and left behind.
        kill(-pid, SIGKILL)
        if status == nil {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        }
        closeInput()
        close(output)
    }

    // MARK: Talking

    func send(_ bytes: [UInt8]) { pending += bytes }

    func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    /// Waits for the next line.
    ///
    /// - Returns: Nil if the program closed its output.
    func nextLine(within limit: Duration) throws(Finding) -> [UInt8]? {
        let deadline = ContinuousClock.now + limit
        while received.isEmpty {
            if hasOutputEnded {
                if lines.isInLine { throw Finding("its last line on standard output has no line break") }
                return nil
            }
            guard try transfer(until: deadline) else {
                throw .silence("it did not answer within \(limit.components.seconds) seconds")
            }
        }
        return received.removeFirst()
    }

    /// Waits until the program has exited and everything that it wrote was read.
    ///
    /// - Returns: Its exit status; nil if a signal ended it.
    func end(within limit: Duration) throws(Finding) -> Int32? {
        let deadline = ContinuousClock.now + limit
        while !hasOutputEnded {
            guard try transfer(until: deadline) else {
                throw Finding("it did not exit within \(limit.components.seconds) seconds")
            }
        }
        while true {
            var status: Int32 = 0
            if waitpid(pid, &status, WNOHANG) == pid {
                self.status = status
                return status & 0x7f == 0 ? (status >> 8) & 0xff : nil
            }
            guard ContinuousClock.now < deadline else {
                throw Finding(
                    "it closed its standard output, but did not exit within \(limit.components.seconds) seconds")
            }
            usleep(1000)
        }
    }

    /// How the program's output ended, as a clause. Waits a second for its exit.
    func wayOfEnding() -> String {
        do throws(Finding) {
            return try end(within: .seconds(1)).map { "it exited with status \($0)" } ?? "a signal killed it"
        } catch {
            return "it closed its standard output"
        }
    }

    /// Writes and reads what is possible now, or waits until something is.
    ///
    /// - Returns: False if the deadline has passed.
    private func transfer(until deadline: ContinuousClock.Instant) throws(Finding) -> Bool {
        let left = deadline - .now
        if left <= .zero { return false }
        var polled = [pollfd(fd: output, events: Int16(POLLIN), revents: 0)]
        if input >= 0, !pending.isEmpty { polled.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
        poll(&polled, nfds_t(polled.count), Int32(clamping: milliseconds))
        if polled.count > 1, polled[1].revents != 0 { writePending() }
        if polled[0].revents != 0 { try readAvailable() }
        return true
    }

    private func writePending() {
        let count = write(input, pending, pending.count)
        if count > 0 {
            pending.removeFirst(count)
        } else if errno != EAGAIN && errno != EINTR {
            // The program no longer reads. Its output, or its end, shows why.
            pending = []
        }
    }

    private func readAvailable() throws(Finding) {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(output, &buffer, buffer.count)
        if count < 0 { return }
        if count == 0 {
            hasOutputEnded = true
            return
        }
        do {
            try buffer.withUnsafeBytes { bytes in
                try lines.add(UnsafeRawBufferPointer(rebasing: bytes[..<count])) { received.append($0) }
            }
        } catch {
            throw Finding("a line on standard output is too long: \(error)")
        }
    }
}
