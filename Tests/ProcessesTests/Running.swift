import CLauncher
import CLinux
import Foundation
import Glibc
import Processes
import Programs

/// A launched test program, its output and its end.
struct Running {
    let process: LaunchedProcess
    let output: Lines
    private let ends: AsyncStream<ProcessEnd>

    /// Starts a command of Tests/ProcessProbe/main.c.
    ///
    /// - Parameter change: Changes the plan, which by default passes only a pipe as standard output.
    static func probe(_ command: String..., change: (inout LaunchPlan) -> Void = { _ in }) throws -> Running {
        var plan = LaunchPlan(.path(binary("ProcessProbe")), command)
        change(&plan)
        return try start(plan)
    }

    static func start(_ plan: LaunchPlan) throws -> Running {
        var plan = plan
        var pipe: [Int32] = [-1, -1]
        guard pipe2(&pipe, O_CLOEXEC) == 0 else { throw CallFailed(call: "pipe2", code: errno) }
        defer { close(pipe[1]) }
        plan.descriptors[1] = pipe[1]
        let (ends, end) = AsyncStream.makeStream(of: ProcessEnd.self)
        do {
            let process = try plan.launch { end.yield($0) }
            return Running(process: process, output: Lines.reading(pipe[0]), ends: ends)
        } catch {
            close(pipe[0])
            throw error
        }
    }

    /// Waits for the end. Nil if the test was cancelled.
    func end() async -> ProcessEnd? { await ends.first { _ in true } }

    /// Waits for the end, then for the end of the output.
    func text() async -> (status: ProcessEnd.Status?, lines: [String]) {
        let status = await end()?.status
        await output.first { _ in false }
        return (status, output.all)
    }

    /// Waits for the number that a process writes after this word.
    func number(after word: String) async throws -> pid_t {
        guard let line = await output.first(where: { $0.hasPrefix(word + " ") })?.line,
            let number = pid_t(line.dropFirst(word.count + 1))
        else { throw NoLine(word: word) }
        return number
    }
}

struct CallFailed: Error {
    var call: String
    var code: Int32
}

struct NoLine: Error {
    var word: String
}

/// Whether a process has this number, counting zombies.
func exists(_ pid: pid_t) -> Bool { kill(pid, 0) == 0 || errno == EPERM }

/// Waits until a process of another parent has ended, zombies included.
func waitForEnd(of pid: pid_t) {
    let pidfd = launcher_open(pid)
    guard pidfd >= 0 else { return }
    var ended = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
    while poll(&ended, 1, 60_000) < 0, errno == EINTR {}
    close(pidfd)
}

/// The open descriptors of this process.
func openDescriptors() -> Set<String> {
    guard let folder = opendir("/proc/self/fd") else { return [] }
    defer { closedir(folder) }
    var names: Set<String> = []
    while let entry = readdir(folder) {
        names.insert(
            withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            })
    }
    names.remove("\(dirfd(folder))")
    return names
}

func pipeEnds() throws -> [Int32] {
    var ends: [Int32] = [-1, -1]
    guard pipe2(&ends, O_CLOEXEC) == 0 else { throw CallFailed(call: "pipe2", code: errno) }
    return ends
}

/// A new file in the temporary folder, which the caller deletes.
func scratchFile(_ text: String, mode: mode_t) throws -> String {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var path = Array("\(folder)/halyard-processes-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw CallFailed(call: "mkostemp", code: errno) }
    defer { close(file) }
    guard write(file, text, text.utf8.count) == text.utf8.count, fchmod(file, mode) == 0 else {
        throw CallFailed(call: "write", code: errno)
    }
    return path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
}

/// Starts a process as code does that does not know this library.
func spawn(_ program: String, _ arguments: String...) throws -> pid_t {
    var texts = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for text in texts { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, program, nil, nil, &texts, nil)
    guard code == 0 else { throw CallFailed(call: "posix_spawn", code: code) }
    return pid
}

/// Runs `body` on a thread of its own and waits until it returns.
func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { done in
        Thread.detachNewThread { done.resume(with: Result(catching: body)) }
    }
}

/// The children of this program, zombies included.
func childrenOfThisProgram() -> [pid_t] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return threads.flatMap { thread in
        // A thread may end meanwhile; its children then belong to another one.
        let text = (try? String(contentsOfFile: "/proc/self/task/\(thread)/children", encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }
}
