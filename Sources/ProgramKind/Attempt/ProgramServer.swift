import CLinux
import Glibc
import Jobs
import OperationTypes
import Processes

/// Reads what a program writes, until it has ended. Only the attempt's thread uses it.
final class ProgramServer {
    /// Standard output, if it is the result.
    private(set) var output: [UInt8] = []
    /// Whether standard output was larger than its limit.
    private(set) var isTooLarge = false
    private(set) var tail = Tail()

    private let pipes: ProgramPipes
    private let socket: NotifySocket?
    private let log: (any ProgramLog)?
    private let maxOutput: Int
    private let onProgress: (OperationProgress) -> Void
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private var isOutputOpen: Bool
    private var isLogOpen = true
    /// Whether the log ends with an incomplete line.
    private var isInLine = false
    /// Whether the log reports an invalid message.
    private var hasNotedUnreadable = false

    /// The maximum number of messages in a second; further reading then waits for the next second.
    private static let messagesPerSecond = 100
    /// The maximum number of bytes for the log in a second; further reading then waits for the next second.
    private static let loggedBytesPerSecond = 32 << 20
    /// How much is read after the end. More than a pipe holds comes from a process that could not be killed.
    private static let maxBytesAfterEnd = 4 << 20

    init(
        _ program: ProgramDefinition, _ pipes: ProgramPipes, _ socket: NotifySocket?, _ log: (any ProgramLog)?,
        onProgress: @escaping (OperationProgress) -> Void
    ) {
        self.pipes = pipes
        self.socket = socket
        self.log = log
        self.onProgress = onProgress
        maxOutput = Int(program.limits.outputBytes)
        isOutputOpen = pipes.output >= 0
    }

    /// Reads until `end` returns the end of the process, then what it wrote before.
    func serve(until end: () -> ProcessEnd?, kill: () -> Void) -> ProcessEnd {
        var messages = Pace(limit: Self.messagesPerSecond)
        var logged = Pace(limit: Self.loggedBytesPerSecond)
        while true {
            let isPaused = messages.isPaused || logged.isPaused
            var entries = [
                pollfd(fd: pipes.wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isOutputOpen ? pipes.output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isLogOpen && !logged.isPaused ? pipes.log : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: messages.isPaused ? -1 : socket?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&entries, nfds_t(entries.count), isPaused ? 50 : -1)
            if let end = end() {
                readTheRest()
                return end
            }
            if count <= 0 { continue }
            if entries[1].revents != 0, let size = read(pipes.output) {
                if size == 0 { isOutputOpen = false }
                let wasTooLarge = isTooLarge
                take(size)
                if isTooLarge, !wasTooLarge { kill() }
            }
            if entries[2].revents != 0, let size = read(pipes.log) {
                if size == 0 { isLogOpen = false } else { write(size) }
                logged.count(size)
            }
            if entries[3].revents != 0, let found = socket?.receive() {
                messages.count(1)
                found.forEach(report)
            }
        }
    }

    private func readTheRest() {
        var left = Self.maxBytesAfterEnd
        while isOutputOpen, left > 0, let size = read(pipes.output), size > 0 {
            take(size)
            left -= size
        }
        left = Self.maxBytesAfterEnd
        while isLogOpen, left > 0, let size = read(pipes.log), size > 0 {
            write(size)
            left -= size
        }
        var count = 0
        while count < Self.messagesPerSecond, let found = socket?.receive() {
            found.forEach(report)
            count += 1
        }
    }

    /// Reads what is available into the buffer; 0 at the end, nil if nothing is available.
    private func read(_ descriptor: Int32) -> Int? {
        let size = Glibc.read(descriptor, &buffer, buffer.count)
        return size >= 0 ? size : errno == EAGAIN || errno == EINTR ? nil : 0
    }

    private func take(_ size: Int) {
        if output.count + size > maxOutput { isTooLarge = true }
        if !isTooLarge { output += buffer[..<size] }
    }

    private func write(_ size: Int) {
        buffer.withUnsafeBytes { bytes in
            let new = UnsafeRawBufferPointer(rebasing: bytes[..<size])
            tail.add(new)
            log?.append(new)
            isInLine = new.last != 0x0A
        }
    }

    private func report(_ message: NotifySocket.Message) {
        switch message {
        case .progress(let part): onProgress(OperationProgress(part: part))
        case .status(let text): addLine("status: \(text)")
        case .unreadable(let problem):
            if hasNotedUnreadable { return }
            hasNotedUnreadable = true
            note("NOTIFY_SOCKET: \(problem); further invalid messages are silently ignored")
        }
    }

    /// Beginning of the daemon's own messages in a log.
    static let origin = "halyard: "

    /// Adds a line of the daemon to the log.
    func note(_ text: String) { addLine(Self.origin + text) }

    private func addLine(_ text: String) {
        if isInLine { ([0x0A] as [UInt8]).withUnsafeBytes { log?.append($0) } }
        log?.note(text)
        isInLine = false
    }
}

/// Counts in seconds, so that a flood costs the daemon only a bounded part of its time.
private struct Pace {
    let limit: Int
    private var begunAt = ContinuousClock.now
    private var count = 0

    init(limit: Int) { self.limit = limit }

    mutating func count(_ more: Int) {
        if ContinuousClock.now - begunAt >= .seconds(1) { (begunAt, count) = (.now, 0) }
        count += more
    }

    var isPaused: Bool { count >= limit && ContinuousClock.now - begunAt < .seconds(1) }
}
