import Jobs

/// The first bytes of each file of a log: text of a fixed length, so that the end of the log can be recorded in place
/// even when the disk is full.
///
/// After the header, each line of the file is one record: the milliseconds since the previous record in base 36, a space
/// (or a plus sign, if the record does not end its line), and the text.
struct SegmentHeader: Hashable {
    static let size = 100
    static let endOffset = 14
    static let version = "halyard log 1 "

    /// The state of the log; only the header of the beginning is ever changed.
    enum State: Hashable {
        case open
        case finished
        case failed(errno: Int32)

        /// Always five bytes.
        var text: String {
            switch self {
            case .open: "open "
            case .finished: "done "
            case .failed(let code): "E" + padded(Int64(code), 4)
            }
        }

        init?(_ text: some StringProtocol) {
            switch text {
            case "open": self = .open
            case "done": self = .finished
            default:
                guard text.first == "E", let code = Int32(text.dropFirst()) else { return nil }
                self = .failed(errno: code)
            }
        }
    }

    var state = State.open
    /// The time that the first record counts from.
    var startedAt: Timestamp
    /// The number of bytes and line breaks before this file.
    var offset: Int64 = 0
    var lines: Int64 = 0
    /// The number of bytes and line breaks of the whole log, known at its end.
    var allBytes: Int64 = 0
    var allLines: Int64 = 0

    var bytes: [UInt8] {
        let numbers = [startedAt.milliseconds, offset, lines, allBytes, allLines].map { padded($0, 15) }
        return Array("\(Self.version)\(state.text) \(numbers.joined(separator: " "))\n".utf8)
    }

    init(startedAt: Timestamp, offset: Int64 = 0, lines: Int64 = 0) {
        self.startedAt = startedAt
        self.offset = offset
        self.lines = lines
    }

    /// Returns nil for bytes that are not a complete header.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.size, bytes[Self.size - 1] == UInt8(ascii: "\n"),
            bytes.starts(with: Self.version.utf8)
        else { return nil }
        let fields = String(decoding: bytes[Self.endOffset..<Self.size - 1], as: UTF8.self)
            .split(separator: " ")
        let numbers = fields.dropFirst().compactMap { Int64($0) }
        guard fields.count == 6, numbers.count == 5, numbers.allSatisfy({ $0 >= 0 }), let state = State(fields[0])
        else {
            return nil
        }
        self.init(startedAt: Timestamp(milliseconds: numbers[0]), offset: numbers[1], lines: numbers[2])
        self.state = state
        (allBytes, allLines) = (numbers[3], numbers[4])
    }
}

private func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(max(0, number))
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
