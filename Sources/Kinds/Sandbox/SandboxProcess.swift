import CLinux
import Glibc
import Pages

/// A sandbox process and the socket to it. Releasing the last reference kills the process and waits until it has
/// exited.
///
/// Only one thread may use it at a time.
// SAFETY: ``DocumentReader`` passes it from thread to thread under its lock, and only one thread uses it at a time.
final class SandboxProcess: @unchecked Sendable {
    let id: pid_t
    private let socket: Int32
    private(set) var documents = 0
    private(set) var usedAt = ContinuousClock.now

    init(_ command: [String]) throws(SandboxError) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .notStarted(errno) }
        defer { close(ends[1]) }
        do throws(SandboxError) {
            id = try Self.spawn(command, ends[1])
            socket = ends[0]
        } catch {
            close(ends[0])
            throw error
        }
    }

    deinit {
        close(socket)
        kill(id, SIGKILL)
        // SIGKILL ends the process at once, so the wait is short. A wait that a signal interrupts is repeated.
        while waitpid(id, nil, 0) == -1, errno == EINTR {}
    }

    /// Starts the command with the socket as descriptor 0, `/dev/null` as descriptor 1 and this process's standard
    /// error. It inherits no other descriptor and no environment variable.
    private static func spawn(_ command: [String], _ end: Int32) throws(SandboxError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, end, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
        var arguments = command.map { strdup($0) } + [nil]
        // The environment holds only this variable, which keeps Swift from starting a backtrace process for a crash
        // that a document caused.
        var environment = [strdup("SWIFT_BACKTRACE=enable=no"), nil]
        defer { for text in arguments + environment { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, command.first ?? "", &actions, &attributes, &arguments, &environment)
        guard code == 0 else { throw .notStarted(code) }
        return id
    }

    /// Sends a question and a document, and waits for the answer. After an error the sandbox must not be used again.
    func exchange(_ question: [UInt8], _ document: [UInt8], within limit: Duration) throws(SandboxError) -> [UInt8] {
        let end = ContinuousClock.now + limit
        documents += 1
        try send(
            SandboxMessage.length(question.count) + SandboxMessage.length(document.count) + question, by: end, limit)
        try send(document, by: end, limit)
        let count = SandboxMessage.count(try receive(4, by: end, limit)[...])
        switch count {
        case ...SandboxMessage.maxAnswer: break
        case DocumentSandbox.noSandbox: throw .noSandbox
        case DocumentSandbox.badQuestion: throw .invalid(.question)
        default: throw .invalid(.answer)
        }
        let answer = try receive(count, by: end, limit)
        usedAt = .now
        return answer
    }

    private func send(_ bytes: [UInt8], by end: ContinuousClock.Instant, _ limit: Duration) throws(SandboxError) {
        var sent = 0
        while sent < bytes.count {
            try wait(for: Int16(POLLOUT), by: end, limit)
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    socket, $0.baseAddress.map { $0 + sent }, $0.count - sent,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count < 0 {
                // The sandbox may have reported a problem and exited before it read the document; the caller reads that
                // report next.
                guard errno == EAGAIN || errno == EINTR else { return }
            } else {
                sent += count
            }
        }
    }

    private func receive(_ count: Int, by end: ContinuousClock.Instant, _ limit: Duration) throws(SandboxError)
        -> [UInt8]
    {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count {
            try wait(for: Int16(POLLIN), by: end, limit)
            let got = bytes.withUnsafeMutableBytes {
                recv(socket, $0.baseAddress.map { $0 + received }, count - received, Int32(MSG_DONTWAIT))
            }
            if got == 0 { throw .ended }
            if got < 0 {
                guard errno == EAGAIN || errno == EINTR else { throw .ended }
            } else {
                received += got
            }
        }
        return bytes
    }

    private func wait(for events: Int16, by end: ContinuousClock.Instant, _ limit: Duration) throws(SandboxError) {
        var entry = pollfd(fd: socket, events: events, revents: 0)
        while true {
            let left = (end - .now).components
            let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
            guard milliseconds > 0 else { throw .tooLate(limit) }
            if poll(&entry, 1, Int32(clamping: milliseconds)) > 0 { return }
        }
    }
}
