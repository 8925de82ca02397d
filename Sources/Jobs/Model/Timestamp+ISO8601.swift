extension Timestamp {
    /// The moment in ISO 8601, such as `2024-02-29T23:59:59.999Z`: UTC, always with milliseconds. A year outside 0 to
    /// 9999 has a sign.
    public var iso8601: String {
        let millisecondsPerDay: Int64 = 86_400_000
        var days = milliseconds / millisecondsPerDay
        var rest = milliseconds % millisecondsPerDay
        if rest < 0 {
            rest += millisecondsPerDay
            days -= 1
        }
        let date = CivilDate(daysSince1970: days)
        // At most a sign, nine digits of the year, and 20 more bytes.
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
        guard let date = CivilDate(year: year, month: month, day: day) else { return nil }
        var milliseconds: Int64 = 0
        if reader.take(".") {
            let run = reader.digitRun
            guard run >= 1, let kept = reader.number(min(run, 3)) else { return nil }
            milliseconds = kept * [100, 10, 1][min(run, 3) - 1]
            reader.skip(run - min(run, 3))
        }
        var offsetMinutes: Int64 = 0
        if !(reader.take("Z") || reader.take("z")) {
            var isWest = false
            guard reader.take("+") || reader.take("-", into: &isWest), let hours = reader.number(2), hours < 24,
                reader.take(":"), let minutes = reader.number(2), minutes < 60
            else { return nil }
            offsetMinutes = (hours * 60 + minutes) * (isWest ? -1 : 1)
        }
        guard reader.isAtEnd else { return nil }
        let seconds = date.daysSince1970 * 86400 + hour * 3600 + (minute - offsetMinutes) * 60 + second
        // Before 1970, the seconds rounded down may overflow although the moment itself does not.
        let whole = seconds < 0 ? seconds + 1 : seconds
        if seconds < 0 { milliseconds -= 1000 }
        let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1000)
        let (sum, sumOverflow) = scaled.addingReportingOverflow(milliseconds)
        guard !overflow, !sumOverflow else { return nil }
        self.init(milliseconds: sum)
    }
}

/// A day of the Gregorian calendar, extended to all years. The arithmetic starts each year in March, so that the leap
/// day is its last day, and groups years into eras of 400 years (146,097 days).
private struct CivilDate {
    let year: Int64
    let month: Int64
    let day: Int64

    init(daysSince1970: Int64) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    init?(year: Int64, month: Int64, day: Int64) {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: [Int64] = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...12).contains(month), (1...lengths[Int(month) - 1]).contains(day) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    var daysSince1970: Int64 {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
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
    mutating func number(_ count: Int) -> Int64? {
        guard digitRun >= count else { return nil }
        var value: Int64 = 0
        for byte in bytes[at..<at + count] { value = value * 10 + Int64(byte - 0x30) }
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
    mutating func write(_ number: Int64, width: Int) {
        var digits = width
        var limit: Int64 = 1
        for _ in 0..<width { limit *= 10 }
        while number >= limit {
            digits += 1
            limit *= 10
        }
        var rest = number
        for place in (count..<count + digits).reversed() {
            text[place] = UInt8(0x30 + rest % 10)
            rest /= 10
        }
        count += digits
    }
}
