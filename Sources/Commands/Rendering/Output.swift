import Glibc
import Jobs
import Synchronization

/// A stream for text: standard output or standard error. It keeps up to 32 KiB until `flush()`.
public final class Output: Sendable {
    /// Whether a person reads the stream on a terminal.
    public let isTerminal: Bool
    /// Whether to write colours.
    public let hasColours: Bool
    private let columns: @Sendable () -> (width: Int, height: Int)?
    private let sink: @Sendable ([UInt8]) throws -> Void
    private let buffer = Mutex<[UInt8]>([])
    private static let capacity = 32 << 10

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - size: Returns the current size of the terminal; nil if it is unknown.
    ///   - sink: Receives the bytes in order. The verb fails with the error that it throws.
    public init(
        isTerminal: Bool, hasColours: Bool, size: @escaping @Sendable () -> (width: Int, height: Int)?,
        sink: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.isTerminal = isTerminal
        self.hasColours = hasColours
        columns = size
        self.sink = sink
    }

    /// The width of the terminal in columns; nil if there is no terminal and nothing needs to be cut.
    var width: Int? { isTerminal ? columns()?.width ?? 80 : nil }
    var height: Int { columns()?.height ?? 24 }

    func line(_ text: StyledText) throws { try write(text.rendered(colours: hasColours) + "\n") }

    func table(_ table: Table) throws {
        for line in table.lines(width: width) { try self.line(line) }
    }

    /// Writes one JSON value as a line. Every character that is dangerous on a terminal becomes a `\u` escape,
    /// also in files and pipes, since their contents may reach a terminal later.
    func json(_ text: JSONText) throws {
        try write(bytes: TerminalText.safe(json: text.bytes))
        try write("\n")
    }

    /// Writes a text of several lines: unchanged, except on a terminal, where each line is made safe.
    func document(_ text: String) throws {
        guard isTerminal else { return try write(text) }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { try self.line(StyledText(line)) }
    }

    /// Writes text from our own code, or text that is already safe.
    func write(_ text: String) throws { try write(bytes: Array(text.utf8)) }

    /// Writes bytes of any content unchanged; only for files and pipes, or if the caller asked for exactly these bytes.
    func write(bytes: [UInt8]) throws {
        try buffer.withLock { buffer in
            buffer += bytes
            if buffer.count >= Self.capacity { try Self.drain(&buffer, to: sink) }
        }
    }

    func flush() throws { try buffer.withLock { try Self.drain(&$0, to: sink) } }

    private static func drain(_ buffer: inout [UInt8], to sink: ([UInt8]) throws -> Void) throws {
        guard !buffer.isEmpty else { return }
        let bytes = buffer
        // Drop the bytes even if writing fails, since writing them again would fail too.
        buffer = []
        try sink(bytes)
    }
}

extension Output {
    /// Creates a stream for a file descriptor. It uses colours only on a terminal that supports them, and never
    /// with `NO_COLOR`.
    public convenience init(descriptor: Int32, variable: (String) -> String?) {
        let isTerminal = isatty(descriptor) == 1
        let refusesColours = variable("NO_COLOR").map { !$0.isEmpty } ?? false
        self.init(
            isTerminal: isTerminal, hasColours: isTerminal && !refusesColours && variable("TERM") != "dumb",
            size: { Self.size(of: descriptor) },
            sink: { try Self.write($0, to: descriptor) })
    }

    private static func size(of descriptor: Int32) -> (width: Int, height: Int)? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&poller, 1, -1)
            case EPIPE: throw CommandFailure(.outputClosed, "")
            case let code:
                throw CommandFailure(
                    .inputOutput, "Cannot write the output: \(String(cString: strerror(code))). Check its destination."
                )
            }
        }
    }
}
