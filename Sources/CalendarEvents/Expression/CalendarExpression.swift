import CivilCalendar

/// A calendar expression in the syntax of systemd's `OnCalendar=`; see "Calendar Events" in systemd.time(7).
///
/// Examples: `Mon..Fri *-*-* 09:00`, `*-*~01 23:30 Europe/Berlin`, `*:0/15`, `weekly`. Parsing uses only the text.
/// ``CalendarTimes`` checks later whether the named time zone exists.
public struct CalendarExpression: Hashable, Sendable {
    /// The time zone of the expression's days and hours.
    public enum ZoneName: Hashable, Sendable {
        /// The local zone of the process that evaluates the expression.
        case local
        /// UTC.
        case utc
        /// A zone of the IANA database, or an abbreviation of the local zone such as `CEST`.
        case named(String)
    }

    /// The last year in which times are found.
    public static let lastYear = 2199

    /// The time zone of the expression. Default: local.
    public internal(set) var zone: ZoneName = .local
    /// The weekdays as bits, of which bit 0 is Monday; nil for every day.
    var weekdays: UInt8?
    var years: Values = .any
    var months: Values = .any
    var days: Values = .any
    /// Whether days are counted from the end of the month, where 1 is the last day.
    var areDaysFromEnd = false
    var hours: Values
    var minutes: Values
    var microseconds: Values
}

extension CalendarExpression {
    /// Parses an expression.
    ///
    /// - Throws: ``CalendarProblem`` with the column and the remedy. Texts that systemd refuses are refused as well.
    public init(_ text: String) throws(CalendarProblem) {
        var parser = CalendarParser(text)
        self = try parser.expression()
    }
}

// MARK: Matching

extension CalendarExpression {
    /// The first match at `wall` or later, in local time; nil if there is none.
    func first(from wall: WallTime) -> WallTime? {
        let start = wall.day
        for year in years.matches(from: start.year, to: Self.lastYear) {
            for month in months.matches(from: year == start.year ? start.month : 1, to: 12) {
                let isFirst = year == start.year && month == start.month
                let begin = isFirst ? wall : WallTime(CivilDate(validYear: year, month: month, day: 1))
                if let found = first(in: year, month, from: begin) { return found }
            }
        }
        return nil
    }

    private func first(in year: Int, _ month: Int, from wall: WallTime) -> WallTime? {
        let count = CivilDate.days(inMonth: month, of: year)
        let days = areDaysFromEnd ? days.countedFromEnd(of: count) : days
        let start = wall.day.day
        for day in days.matches(from: start, to: count) {
            let civil = CivilDate(validYear: year, month: month, day: day)
            if weekdays.map({ $0 & 1 << UInt8(civil.weekday) != 0 }) ?? true,
                let time = firstTime(from: day == start ? wall.microsecondOfDay : 0)
            {
                return WallTime(civil, microsecondOfDay: time)
            }
        }
        return nil
    }

    private func firstTime(from time: Int) -> Int? {
        let (startHour, inHour) = time.quotientAndRemainder(dividingBy: 3_600_000_000)
        let (startMinute, inMinute) = inHour.quotientAndRemainder(dividingBy: 60_000_000)
        for hour in hours.matches(from: startHour, to: 23) {
            for minute in minutes.matches(from: hour == startHour ? startMinute : 0, to: 59) {
                let isFirst = hour == startHour && minute == startMinute
                if let rest = microseconds.first(from: isFirst ? inMinute : 0, to: 59_999_999) {
                    return (hour * 60 + minute) * 60_000_000 + rest
                }
            }
        }
        return nil
    }
}

/// A local date and time, in microseconds since 1970-01-01 00:00 local time.
struct WallTime: Hashable, Comparable {
    static let microsecondsInDay = 86_400_000_000

    var microseconds: Int

    init(microseconds: Int) { self.microseconds = microseconds }

    init(_ day: CivilDate, microsecondOfDay: Int = 0) {
        microseconds = day.daysSince1970 * Self.microsecondsInDay + microsecondOfDay
    }

    private var dayNumber: Int { floorDivide(microseconds, Self.microsecondsInDay) }
    var day: CivilDate { CivilDate(daysSince1970: dayNumber) }
    var microsecondOfDay: Int { microseconds - dayNumber * Self.microsecondsInDay }

    static func < (a: WallTime, b: WallTime) -> Bool { a.microseconds < b.microseconds }
}
