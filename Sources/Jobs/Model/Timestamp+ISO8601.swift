import CivilCalendar

extension Timestamp {
    /// The moment in ISO 8601, such as `2024-02-29T23:59:59.999Z`: UTC, always with milliseconds. A year outside 0 to
    /// 9999 has a sign.
    public var iso8601: String {
        let millisecondsPerDay = 86_400_000
        var (days, rest) = Int(milliseconds).quotientAndRemainder(dividingBy: millisecondsPerDay)
        if rest < 0 {
            rest += millisecondsPerDay
            days -= 1
        }
        let date = CivilDate(daysSince1970: days)
        // The text has at most a sign, nine digits of the year, and 20 more bytes.
        return String(unsafeUninitializedCapacity: 30) { text in
            var writer = DigitWriter(text: text)
            if !(0...9999).contains(date.year) { writer.write(date.year < 0 ? "-" : "+") }
            writer.write(abs(date.year), width: 4)
            writer.write("-")
            writer.write(date.month, width: 2)
            writer.write("-")
            writer.write(date.day, width: 2)
            writer.write("T")
            writer.write(rest / 3_600_000, width: 2)
            writer.write(":")
            writer.write(rest / 60_000 % 60, width: 2)
            writer.write(":")
            writer.write(rest / 1000 % 60, width: 2)
            writer.write(".")
            writer.write(rest % 1000, width: 3)
            writer.write("Z")
            return writer.count
        }
    }

    /// Parses a moment in the format of RFC 3339: date, `T` or a space, time, an optional fraction of a second
    /// (truncated to milliseconds), and `Z` or an offset such as `+02:00`. Returns nil for anything else, including
    /// dates that do not exist and leap seconds.
    public init?(iso8601 text: some StringProtocol) {
        var reader = DigitReader(Array(text.utf8))
        var isBeforeZero = false
        var yearDigits = 4
        if reader.take("+") || reader.take("-", into: &isBeforeZero) {
            yearDigits = reader.digitRun
            guard (4...9).contains(yearDigits) else { return nil }
        }
        guard var year = reader.number(yearDigits), reader.take("-"),
            let month = reader.number(2), reader.take("-"), let day = reader.number(2),
            reader.take("T") || reader.take("t") || reader.take(" "),
            let hour = reader.number(2), hour < 24, reader.take(":"), let minute = reader.number(2), minute < 60,
            reader.take(":"), let second = reader.number(2), second < 60
        else { return nil }
        if isBeforeZero { year = -year }
        guard (1...12).contains(month), (1...CivilDate.days(inMonth: month, of: year)).contains(day) else { return nil }
        var milliseconds = 0
        if reader.take(".") {
            let run = reader.digitRun
            guard run >= 1, let kept = reader.number(min(run, 3)) else { return nil }
            milliseconds = kept * [100, 10, 1][min(run, 3) - 1]
            reader.skip(run - min(run, 3))
        }
        var offsetMinutes = 0
        if !(reader.take("Z") || reader.take("z")) {
            var isWest = false
            guard reader.take("+") || reader.take("-", into: &isWest), let hours = reader.number(2), hours < 24,
                reader.take(":"), let minutes = reader.number(2), minutes < 60
            else { return nil }
            offsetMinutes = (hours * 60 + minutes) * (isWest ? -1 : 1)
        }
        guard reader.isAtEnd else { return nil }
        let days = CivilDate(validYear: year, month: month, day: day).daysSince1970
        let seconds = days * 86400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
        // Before 1970, the seconds rounded down may overflow although the moment itself does not.
        let whole = seconds < 0 ? seconds + 1 : seconds
        if seconds < 0 { milliseconds -= 1000 }
        let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1000)
        let (sum, sumOverflow) = scaled.addingReportingOverflow(milliseconds)
        guard !overflow, !sumOverflow else { return nil }
        self.init(milliseconds: Int64(sum))
    }
}

private struct DigitReader {
    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }
    /// The number of digits that follow.
    var digitRun: Int { bytes[at...].prefix { (0x30...0x39).contains($0) }.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard at < bytes.count, bytes[at] == UInt8(ascii: character) else { return false }
        at += 1
        return true
    }

    mutating func take(_ character: Unicode.Scalar, into found: inout Bool) -> Bool {
        found = take(character)
        return found
    }

    /// Reads exactly `count` digits; nil if fewer follow.
    mutating func number(_ count: Int) -> Int? {
        guard digitRun >= count else { return nil }
        var value = 0
        for byte in bytes[at..<at + count] { value = value * 10 + Int(byte - 0x30) }
        at += count
        return value
    }

    mutating func skip(_ count: Int) { at += count }
}

private struct DigitWriter {
    let text: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(text: UnsafeMutableBufferPointer<UInt8>) { self.text = text }

    mutating func write(_ character: Unicode.Scalar) {
        text[count] = UInt8(ascii: character)
        count += 1
    }

    /// - Parameter width: The minimum number of digits; a shorter number is padded with zeros.
    mutating func write(_ number: Int, width: Int) {
        var digits = width
        var limit = 1
        for _ in 0..<width { limit *= 10 }
        while number >= limit {
            digits += 1
            limit *= 10
        }
        var rest = number
        for index in (count..<count + digits).reversed() {
            text[index] = UInt8(0x30 + rest % 10)
            rest /= 10
        }
        count += digits
    }
}
