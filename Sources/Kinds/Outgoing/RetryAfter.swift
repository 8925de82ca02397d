import Glibc

/// The `Retry-After` header in its two forms: seconds, or a date.
enum RetryAfter {
    /// - Parameter serverDate: The answer's `Date`, so that a wrong clock here or there does no harm.
    static func parse(_ text: String, serverDate: String?) -> Duration? {
        let text = text.trimmingSpaces
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(Int64(text).map { min($0, 1 << 32) } ?? 1 << 32)
        }
        guard let then = HTTPDate.parse(text) else { return nil }
        let now = serverDate.flatMap(HTTPDate.parse) ?? Int64(time(nil))
        return then > now ? .seconds(then - now) : nil
    }
}

/// Dates of HTTP (RFC 9110, 5.6.7) as seconds since 1970.
enum HTTPDate {
    /// Reads the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
    static func parse(_ text: String) -> Int64? {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }
        let (day, month, year, clock): (Substring, Substring, Substring, Substring)
        switch words.count {
        case 6: (day, month, year, clock) = (words[1], words[2], words[3], words[4])
        case 5: (day, month, year, clock) = (words[2], words[1], words[4], words[3])
        default: return nil
        }
        guard let day = Int(day), let month = CivilDate.month(named: month), var year = Int(year) else { return nil }
        // RFC 9110: a year of two digits that would lie far ahead is in the past century.
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = Int(parts[0]), let minute = Int(parts[1]), let second = Int(parts[2]),
            let days = CivilDate(year: year, month: month, day: day)?.daysSince1970,
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        return days * 86400 + Int64(hour * 3600 + minute * 60 + second)
    }
}

/// A day of the Gregorian calendar.
struct CivilDate: Hashable, Sendable {
    let year: Int
    let month: Int
    let day: Int

    /// Nil for a day that does not exist.
    init?(year: Int, month: Int, day: Int) {
        let lengths = [
            31, year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
        ]
        guard (1...9999).contains(year), (1...12).contains(month), (1...lengths[month - 1]).contains(day) else {
            return nil
        }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// By Howard Hinnant's algorithm on years that begin in March.
    var daysSince1970: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return Int64(era * 146097 + dayOfEra - 719468)
    }

    /// From an English month, whole or shortened to three letters or more.
    static func month(named name: some StringProtocol) -> Int? {
        let name = name.lowercased()
        guard name.utf8.count >= 3 else { return nil }
        let names = [
            "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november",
            "december",
        ]
        return names.firstIndex { $0.hasPrefix(name) }.map { $0 + 1 }
    }
}

extension StringProtocol {
    /// Without white space of ASCII at both ends.
    var trimmingSpaces: String {
        let bytes = Array(utf8)
        guard let first = bytes.firstIndex(where: { !$0.isSpace }), let last = bytes.lastIndex(where: { !$0.isSpace })
        else {
            return ""
        }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }
}

extension UInt8 {
    /// ASCII white space as HTML counts it.
    var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0C || self == 0x0D }
}
