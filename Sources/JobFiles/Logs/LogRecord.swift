import Jobs

/// One record in a file of a log.
struct LogRecord {
    var delay: Int64
    var bytes: ArraySlice<UInt8>
    var isWhole: Bool

    /// Appends the record of a text, which contains no line break.
    static func append(_ text: some Collection<UInt8>, delay: Int64, isWhole: Bool, to bytes: inout [UInt8]) {
        bytes += String(max(0, delay), radix: 36).utf8
        bytes.append(isWhole ? UInt8(ascii: " ") : UInt8(ascii: "+"))
        bytes += text
        bytes.append(UInt8(ascii: "\n"))
    }

    /// The greatest number of bytes that a record adds to its text.
    static let maxOverhead = 16

    /// Parses a record without its line feed. Returns nil if the bytes are damaged.
    init?(_ record: ArraySlice<UInt8>) {
        var delay: Int64 = 0
        var index = record.startIndex
        while index < record.endIndex, index - record.startIndex < 13 {
            switch record[index] {
            case let digit where (0x30...0x39).contains(digit): delay = delay &* 36 &+ Int64(digit - 0x30)
            case let letter where (0x61...0x7A).contains(letter): delay = delay &* 36 &+ Int64(letter - 0x61 + 10)
            case let mark where mark == UInt8(ascii: " ") || mark == UInt8(ascii: "+"):
                guard index > record.startIndex, delay >= 0 else { return nil }
                self.delay = delay
                isWhole = mark == UInt8(ascii: " ")
                bytes = record[(index + 1)...]
                return
            default: return nil
            }
            index += 1
        }
        return nil
    }
}
