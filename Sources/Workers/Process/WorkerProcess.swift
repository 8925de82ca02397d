import CLinux
import Glibc
import Jobs
import Processes
import Synchronization
import WorkerProtocol

/// One process of a worker program: its pipes, and the thread that serves them until the process has exited.
final class WorkerProcess: Sendable {
    private let ends: WorkerPipes.Ends

    /// The receivers of the thread's reports. All calls come from that thread; ``exited`` is the last one.
    struct Observer: Sendable {
        var message: @Sendable (WorkerMessage) -> Void
        /// The process broke the protocol. Nothing that it sends later is reported.
        var violated: @Sendable (WorkerProtocolProblem) -> Void
        var logged: @Sendable ([String]) -> Void
        var exited: @Sendable (WorkerExit, _ lastLines: [String]) -> Void
    }

    private let output: Int32
    private let errors: Int32
    private let wake: Int32
    private let observer: Observer
    private let outgoing: Mutex<Outgoing>
    private let state = Mutex(State())
    /// How long the process may run after it has closed its standard output.
    private static let patienceAfterEnd: Int32 = 5000
    /// The maximum size of the lines for the log in a second; further reading then waits for the next second.
    private static let loggedBytesPerSecond = 4 << 20
    /// The maximum number of messages such as progress in a second; further reading then waits for the next second.
    private static let progressPerSecond = 20_000

    /// The maximum size of the answers that the process has not read. Other messages are limited by the attempts.
    static let maxUnreadAnswers = WorkerProtocol.maxLineBytes

    private struct State {
        var launched: LaunchedProcess?
        var end: ProcessEnd?
        /// No thread could be created, so the report of the end closes the descriptors.
        var isUnserved = false
    }

    fileprivate struct Outgoing {
        var input: Int32
        var bytes: [UInt8] = []
        /// The estimated size of the answers in ``bytes``: it counts every byte that is written as part of an answer.
        var answerBytes = 0
        /// Whether the pipe was full, so that the thread writes the rest.
        var isBlocked = false
    }

    /// Opens the pipes of a process; ``start(_:)`` launches it.
    ///
    /// - Throws: ``WorkerStartError``.
    init(observer: Observer) throws(WorkerStartError) {
        let pipes = try WorkerPipes()
        ends = pipes.ends
        output = pipes.output
        errors = pipes.errors
        wake = pipes.wake
        outgoing = Mutex(Outgoing(input: pipes.input))
        self.observer = observer
        // A peer that no longer reads is an answer of write(2), not a signal that ends this process.
        _ = Self.ignoresBrokenPipes
    }

    private static let ignoresBrokenPipes: Void = { signal(SIGPIPE, SIG_IGN) }()

    /// Launches the process, and a thread that serves it.
    ///
    /// - Parameter groups: The cgroup below which the process gets its own; nil for none.
    /// - Throws: ``WorkerStartError``; then nothing is reported.
    func start(_ program: WorkerProgram, in groups: CgroupRoot? = nil) throws(WorkerStartError) {
        var plan = LaunchPlan(
            .path(program.command.first ?? ""), Array(program.command.dropFirst()),
            environment: program.environment)
        plan.descriptors = [0: ends.input, 1: ends.output, 2: ends.errors]
        plan.adoptsOrphans = true
        let limits = program.limits
        do throws(CgroupProblem) {
            plan.group = try groups?.makeGroup(
                limits: CgroupLimits(memory: UInt64(limits.memory), processes: UInt64(limits.processes)))
        } catch {
            observer.logged(["its process has no cgroup: \(error)"])
        }
        let controllers = plan.group == nil ? [] : groups?.controllers ?? []
        plan.limits = ProcessLimits(descriptors: UInt64(limits.descriptors))
        if !controllers.contains(.memory) { plan.limits.data = UInt64(limits.memory) }
        if !controllers.contains(.pids) { plan.limits.processes = UInt64(limits.processes) + UserThreads.count() }
        defer { ends.close() }
        do throws(LaunchError) {
            let launched = try plan.launch { [self] (end: ProcessEnd) in
                // The lock matters: once the thread sees the end, it closes the descriptor, and another file may get its number.
                let isUnserved = state.withLock { state in
                    state.end = end
                    if !state.isUnserved { eventfd_write(wake, 1) }
                    return state.isUnserved
                }
                if isUnserved { close() }
            }
            state.withLock { $0.launched = launched }
        } catch {
            close()
            // The reason becomes part of a sentence.
            let reason = "\(error)"
            throw WorkerStartError(description: reason.hasSuffix(".") ? String(reason.dropLast()) : reason)
        }
        let code = WorkerThread.start { [self] in serve() }
        if code == 0 { return }
        kill()
        // Whichever comes last closes: this, or the report of the end, which uses a descriptor.
        let hasEnded = state.withLock { state in
            state.isUnserved = true
            return state.end != nil
        }
        if hasEnded { close() }
        throw WorkerStartError(description: String(cString: strerror(code)))
    }

    /// The number of the process; 0 before its launch.
    var pid: Int32 { state.withLock { $0.launched?.pid ?? 0 } }

    /// Whether a signal such as SIGSTOP has stopped the process.
    var isStopped: Bool { state.withLock { $0.end == nil && $0.launched?.isStopped == true } }

    /// Kills the process and everything that it started.
    func kill() { state.withLock(\.launched)?.kill() }

    // MARK: Sending, from any thread

    /// Adds a message to those that ``flush()`` sends. Messages arrive in the order of these calls.
    func enqueue(_ message: DaemonMessage) { outgoing.withLock { message.append(to: &$0.bytes) } }

    /// Adds the answer to a message of the process, like ``enqueue(_:)``.
    ///
    /// - Returns: False if more than ``maxUnreadAnswers`` wait.
    func enqueue(answer message: DaemonMessage) -> Bool {
        outgoing.withLock { outgoing in
            let size = outgoing.bytes.count
            message.append(to: &outgoing.bytes)
            outgoing.answerBytes += outgoing.bytes.count - size
            return outgoing.answerBytes <= Self.maxUnreadAnswers
        }
    }

    /// Writes what fits into the pipe now; the process's thread writes the rest.
    func flush() {
        outgoing.withLock { outgoing in
            if outgoing.isBlocked { return }
            outgoing.writeAvailable()
            // The lock matters, since the thread closes the descriptor under it.
            if outgoing.isBlocked { eventfd_write(wake, 1) }
        }
    }

    // MARK: The thread

    private enum Output {
        case open
        /// The process has closed it and is expected to exit.
        case ended
        /// The process broke the protocol.
        case untrusted
    }

    private func serve() {
        var reader = LineReader()
        var log = WorkerLog()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var messages = Pace(limit: Self.progressPerSecond)
        var logged = Pace(limit: Self.loggedBytesPerSecond)
        var state = Output.open
        var exit = WorkerExit.unknown
        var areErrorsOpen = true
        while true {
            let now = monotonicNow()
            let isPaused = messages.isPaused(now) || logged.isPaused(now)
            let blocked = outgoing.withLock { $0.isBlocked ? $0.input : -1 }
            var entries = [
                pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: state == .open && !messages.isPaused(now) ? output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: areErrorsOpen && !logged.isPaused(now) ? errors : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: blocked, events: Int16(POLLOUT), revents: 0),
            ]
            let count = poll(
                &entries, nfds_t(entries.count), isPaused ? 50 : state == .ended ? Self.patienceAfterEnd : -1)
            if count == 0, !isPaused, state == .ended {
                violate("it closed its standard output and did not exit", &state)
            }
            if count <= 0 { continue }
            var ignored: eventfd_t = 0
            if entries[0].revents != 0 { eventfd_read(wake, &ignored) }
            if entries[3].revents != 0 {
                outgoing.withLock { outgoing in
                    outgoing.isBlocked = false
                    outgoing.writeAvailable()
                }
            }
            // After the exit, everything that the process wrote is read, also messages that ended attempts.
            let end = self.state.withLock(\.end)
            let hasExited = end != nil
            if hasExited || entries[2].revents != 0 {
                repeat {
                    guard let size = buffer.read(errors) else { break }
                    if size == 0 { areErrorsOpen = false }
                    if size == 0 { break }
                    logged.count(size, monotonicNow())
                    let lines = log.add(buffer[..<size], now: monotonicNow())
                    if !lines.isEmpty { observer.logged(lines) }
                } while hasExited && !logged.isPaused(monotonicNow())
            }
            if state == .open, hasExited || entries[1].revents != 0 {
                repeat {
                    guard let size = buffer.read(output) else { break }
                    if size == 0 { state = .ended }
                    if size == 0 { break }
                    receive(buffer, size, &reader, &messages, &state)
                } while hasExited && state == .open
            }
            if let end {
                exit = WorkerExit(end)
                break
            }
        }
        let last = log.finish(now: monotonicNow())
        if !last.isEmpty { observer.logged(last) }
        close()
        observer.exited(exit, log.kept)
    }

    private func receive(
        _ buffer: [UInt8], _ size: Int, _ reader: inout LineReader, _ messages: inout Pace, _ state: inout Output
    ) {
        let result = buffer.withUnsafeBytes { bytes in
            Result { () throws(WorkerProtocolProblem) in
                try reader.add(UnsafeRawBufferPointer(rebasing: bytes[..<size])) { line throws(WorkerProtocolProblem) in
                    let message = try Self.message(line)
                    switch message {
                    // The number of attempts limits these.
                    case .started, .succeeded, .failed, .checked: break
                    default: messages.count(1, monotonicNow())
                    }
                    observer.message(message)
                }
            }
        }
        if case .failure(let problem) = result { violate("line \(reader.count + 1): \(problem)", &state) }
    }

    private static func message(_ line: [UInt8]) throws(WorkerProtocolProblem) -> WorkerMessage {
        do throws(WorkerProtocolProblem) {
            return try WorkerMessage(line: line)
        } catch {
            // The most common cause is a program that prints something else.
            throw WorkerProtocolProblem("\(error) (write logs to standard error)")
        }
    }

    private func violate(_ problem: String, _ state: inout Output) {
        if state != .untrusted { observer.violated(WorkerProtocolProblem(problem)) }
        state = .untrusted
    }

    /// Closes this end of the pipes. Later calls do nothing.
    private func close() {
        outgoing.withLock { outgoing in
            guard outgoing.input >= 0 else { return }
            for descriptor in [outgoing.input, output, errors, wake] { _ = Glibc.close(descriptor) }
            outgoing.input = -1
            outgoing.bytes = []
            outgoing.isBlocked = false
        }
    }
}

extension WorkerProcess.Outgoing {
    /// Writes until nothing is left or the pipe is full.
    fileprivate mutating func writeAvailable() {
        if input < 0 { return bytes = [] }
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(input, $0.baseAddress.map { $0 + sent }, bytes.count - sent) }
            if count < 0 {
                if errno == EINTR { continue }
                isBlocked = errno == EAGAIN
                // Otherwise the process no longer reads, and its exit follows.
                if !isBlocked { sent = bytes.count }
                break
            }
            sent += count
        }
        bytes.removeFirst(sent)
        answerBytes = max(0, answerBytes - sent)
    }
}

extension [UInt8] {
    /// Reads what is available; 0 at the end, nil if nothing is available.
    fileprivate mutating func read(_ descriptor: Int32) -> Int? {
        let size = Glibc.read(descriptor, &self, count)
        return size >= 0 ? size : errno == EAGAIN || errno == EINTR ? nil : 0
    }
}

/// Counts in seconds, so that a flood costs the daemon only a bounded part of its time.
private struct Pace {
    let limit: Int
    private var second: Duration = .zero
    private var count = 0

    init(limit: Int) { self.limit = limit }

    mutating func count(_ more: Int, _ now: Duration) {
        if now - second >= .seconds(1) { (second, count) = (now, 0) }
        count += more
    }

    func isPaused(_ now: Duration) -> Bool { count > limit && now - second < .seconds(1) }
}

/// The time of the monotonic clock.
func monotonicNow() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
