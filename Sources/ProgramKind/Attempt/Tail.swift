import Jobs

/// The last lines of a program's log, for the detail of a failure.
struct Tail {
    static let maxBytes = 2048
    private var bytes: [UInt8] = []

    mutating func add(_ more: UnsafeRawBufferPointer) {
        bytes += more.suffix(2 * Self.maxBytes)
        if bytes.count > 4 * Self.maxBytes { bytes.removeFirst(bytes.count - 2 * Self.maxBytes) }
    }

    /// The lines without hidden characters. A line that does not fit is cut at its beginning.
    var lines: [String] {
        let isCut = bytes.count > Self.maxBytes
        var lines = bytes.suffix(Self.maxBytes).split(separator: 0x0A).map {
            String(decoding: $0, as: UTF8.self).withoutHiddenCharacters
        }
        if isCut, !lines.isEmpty { lines[0] = "…" + lines[0] }
        return lines
    }
}
