import Glibc
import Jobs

/// A time as people write it: `2026-07-25T18:00Z`, `2026-07-25 18:00` in local time, or `18:00` for the next
/// occurrence.
struct TimeArgument: Hashable, ParsedArgument {
    private enum Form: Hashable {
        case absolute(Timestamp)
        /// The reading of a local clock, stored as if it were UTC.
        case local(Timestamp)
        /// A time of day, stored as a time on 1970-01-01 in UTC.
        case next(Timestamp)
    }

    private var form: Form

    init?(argument: String) {
        if let moment = Self.moment(argument) {
            form = .absolute(moment)
        } else if let moment = Self.moment(argument + "Z") ?? Self.moment(argument + "T00:00Z") {
            form = .local(moment)
        } else if let moment = Self.moment("1970-01-01T\(argument)Z") {
            form = .next(moment)
        } else {
            return nil
        }
    }

    static func remedy(for text: String) -> String {
        "give a day, a time of day or both, such as 2026-07-25, 18:00, '2026-07-25 18:00' or with a zone 2026-07-25T18:00Z"
    }

    /// Returns the time, in the local time zone if the text names none.
    func moment(now: Timestamp) -> Timestamp {
        switch form {
        case .absolute(let moment): return moment
        case .local(let clock): return Self.local(clock)
        case .next(let clock):
            var seconds = time_t(now.milliseconds / 1000)
            var parts = tm()
            localtime_r(&seconds, &parts)
            parts.tm_hour = 0
            parts.tm_min = 0
            parts.tm_sec = 0
            let midnight = Timestamp(milliseconds: Int64(timegm(&parts)) * 1000)
            let today = Self.local(midnight + .milliseconds(clock.milliseconds))
            return today >= now ? today : Self.local(midnight + .milliseconds(clock.milliseconds + 86_400_000))
        }
    }

    /// Parses the format of RFC 3339, in which the seconds may be missing.
    private static func moment(_ text: String) -> Timestamp? {
        if let moment = Timestamp(iso8601: text) { return moment }
        guard let zone = text.dropFirst(11).firstIndex(where: { !$0.isNumber && $0 != ":" }) else { return nil }
        return Timestamp(iso8601: text[..<zone] + ":00" + text[zone...])
    }

    /// Converts the reading of a local clock with `mktime`, which handles daylight saving time.
    private static func local(_ clock: Timestamp) -> Timestamp {
        var seconds = time_t(clock.milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        parts.tm_isdst = -1
        return Timestamp(milliseconds: Int64(mktime(&parts)) * 1000 + clock.milliseconds % 1000)
    }
}
