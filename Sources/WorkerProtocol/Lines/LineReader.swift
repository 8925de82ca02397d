/// Splits the bytes of a stream into lines.
public struct LineReader: ~Copyable {
    private var rest: [UInt8] = []
    /// The number of complete lines so far, without a line for which ``add(_:_:)`` threw.
    public private(set) var count = 0

    /// Creates a reader at the beginning of a line.
    public init() {}

    /// Adds bytes, and calls `body` with each line that is now complete, without its line break.
    ///
    /// - Throws: ``WorkerProtocolProblem`` if a line is longer than ``WorkerProtocol/maxLineBytes``. The error of `body`
    ///   otherwise.
    public mutating func add(
        _ bytes: UnsafeRawBufferPointer, _ body: ([UInt8]) throws(WorkerProtocolProblem) -> Void
    ) throws(WorkerProtocolProblem) {
        var start = 0
        while let end = bytes[start...].firstIndex(of: 0x0A) {
            try check(rest.count + end - start)
            if rest.isEmpty {
                try body(Array(bytes[start..<end]))
            } else {
                rest += bytes[start..<end]
                let line = rest
                rest = []
                try body(line)
            }
            count += 1
            start = end + 1
        }
        try check(rest.count + bytes.count - start)
        rest += bytes[start...]
    }

    /// Whether the stream ended in the middle of a line.
    public var isInLine: Bool { !rest.isEmpty }

    private func check(_ count: Int) throws(WorkerProtocolProblem) {
        if count > WorkerProtocol.maxLineBytes {
            throw WorkerProtocolProblem("the line is longer than \(WorkerProtocol.maxLineBytes) bytes")
        }
    }
}
