import CivilCalendar
import Glibc
import WebSyntax

/// The `Retry-After` header in its two forms: a number of seconds, or a date.
enum RetryAfter {
    /// Parses the header's value.
    ///
    /// - Parameter serverDate: The response's `Date` header. The wait is counted from it, so that a wrong clock on
    ///   either machine does no harm.
    /// - Returns: Nil if the value is invalid, or a date in the past.
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

/// HTTP dates (RFC 9110, 5.6.7), as seconds since 1970.
package enum HTTPDate {
    /// Parses the three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`.
    package static func parse(_ text: String) -> Int64? {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }
        let (day, month, year, clock): (Substring, Substring, Substring, Substring)
        switch words.count {
        case 6: (day, month, year, clock) = (words[1], words[2], words[3], words[4])
        case 5: (day, month, year, clock) = (words[2], words[1], words[4], words[3])
        default: return nil
        }
        guard let day = Int(day), let month = CivilDate.month(named: month), var year = Int(year) else { return nil }
        // RFC 9110: a two-digit year far in the future means the past century. Here, these are 70 to 99.
        if year < 70 { year += 2000 } else if year < 100 { year += 1900 }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = Int(parts[0]), let minute = Int(parts[1]), let second = Int(parts[2]),
            let days = CivilDate(year: year, month: month, day: day)?.daysSince1970,
            (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second)
        else { return nil }
        return Int64(days * 86400 + hour * 3600 + minute * 60 + second)
    }
}
