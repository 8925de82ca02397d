import CivilCalendar

/// A rule for all years in the form of POSIX's `TZ` with the extensions of RFC 8536, such as
/// `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule {
    let standard: Zone.Period
    private let daylight: (period: Zone.Period, start: Change, end: Change)?

    /// The day and time of a transition in each year, in the local time that applies before it.
    private struct Change {
        enum Day {
            /// The day of the year from 1 to 365. February 29 is never counted.
            case julian(Int)
            /// The day of the year from 0 to 365. February 29 is counted.
            case number(Int)
            /// A weekday of a month, where 0 is Sunday. Week 5 means the last one of the month.
            case weekday(Int, week: Int, month: Int)
        }

        var day: Day
        /// Seconds from midnight. The time may be negative or more than a day.
        var time: Int

        func wallSecond(in year: Int) -> Int {
            let newYear = CivilDate(validYear: year, month: 1, day: 1).daysSince1970
            let day =
                switch day {
                case .julian(let day): newYear + day - 1 + (CivilDate.isLeap(year) && day >= 60 ? 1 : 0)
                case .number(let day): newYear + day
                case .weekday(let weekday, let week, let month): Self.day(weekday, week, month, year)
                }
            return day * 86_400 + time
        }

        private static func day(_ weekday: Int, _ week: Int, _ month: Int, _ year: Int) -> Int {
            let first = CivilDate(validYear: year, month: month, day: 1)
            var day = 1 + (weekday - (first.weekday + 1) % 7 + 7) % 7 + (week - 1) * 7
            while day > CivilDate.days(inMonth: month, of: year) { day -= 7 }
            return first.daysSince1970 + day - 1
        }
    }

    init?(_ text: String) {
        var reader = Reader(text)
        guard let name = reader.name(), let offset = reader.time(hours: Reader.offsetHours) else { return nil }
        standard = Zone.Period(offset: -offset, isDaylight: false, abbreviation: name)
        if reader.isAtEnd {
            daylight = nil
            return
        }
        guard let summerName = reader.name() else { return nil }
        var summerOffset = offset - 3600
        if !reader.isAtEnd, !reader.isAt(",") {
            guard let given = reader.time(hours: Reader.offsetHours) else { return nil }
            summerOffset = given
        }
        // Without dates, glibc applies the rule of the United States.
        if reader.isAtEnd { reader = Reader(",M3.2.0,M11.1.0") }
        guard reader.take(","), let start = reader.change(), reader.take(","), let end = reader.change(), reader.isAtEnd
        else { return nil }
        let period = Zone.Period(offset: -summerOffset, isDaylight: true, abbreviation: summerName)
        daylight = (period, start, end)
    }

    /// The zone in which this rule applies in all years.
    func zone(named name: String) -> Zone {
        Zone(name: name, initial: standard, changes(fromYear: 1969).filter { $0.at > 0 })
    }

    func changes(fromYear year: Int) -> [(at: Int, Zone.Period)] {
        guard let daylight else { return [] }
        var changes: [(at: Int, Zone.Period)] = []
        for year in year...CalendarExpression.lastYear + 1 {
            changes.append((daylight.start.wallSecond(in: year) - standard.offset, daylight.period))
            changes.append((daylight.end.wallSecond(in: year) - daylight.period.offset, standard))
        }
        // If daylight time ends at the moment when the next one begins, it lasts all year.
        return changes.sorted { $0.at < $1.at }.reduce(into: []) { kept, change in
            if kept.last?.at == change.at { kept.removeLast() }
            kept.append(change)
        }
    }
}

extension ZoneRule {
    private struct Reader {
        /// The hours of an offset from UTC, as POSIX limits them.
        static let offsetHours = 0...24
        /// The hours of a transition's time, which may be days away (RFC 8536, 3.3.1).
        private static let transitionHours = 0...167

        private var bytes: ArraySlice<UInt8>

        init(_ text: String) { bytes = ArraySlice(text.utf8) }

        var isAtEnd: Bool { bytes.isEmpty }
        func isAt(_ character: Unicode.Scalar) -> Bool { bytes.first == UInt8(ascii: character) }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard isAt(character) else { return false }
            bytes.removeFirst()
            return true
        }

        /// Reads an abbreviation: letters such as `CET`, or letters, digits and signs in angle brackets such as
        /// `<+03>`.
        mutating func name() -> String? {
            let isQuoted = take("<")
            let name = bytes.prefix { byte in
                let isLetter = (0x61...0x7A).contains(byte | 0x20)
                return isLetter
                    || (isQuoted && ("0"..."9" ~= Character(Unicode.Scalar(byte)) || byte == 0x2B || byte == 0x2D))
            }
            bytes = bytes.dropFirst(name.count)
            if name.count < 3 || (isQuoted && !take(">")) { return nil }
            return String(decoding: name, as: UTF8.self)
        }

        mutating func number(_ range: ClosedRange<Int>) -> Int? {
            let digits = bytes.prefix { (0x30...0x39).contains($0) }.prefix(4)
            bytes = bytes.dropFirst(digits.count)
            guard let number = Int(String(decoding: digits, as: UTF8.self)), range.contains(number) else { return nil }
            return number
        }

        /// Reads `[+-]hh[:mm[:ss]]`, and returns it in seconds.
        mutating func time(hours range: ClosedRange<Int>) -> Int? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard let hours = number(range) else { return nil }
            var seconds = hours * 3600
            if take(":") {
                guard let minutes = number(0...59) else { return nil }
                seconds += minutes * 60
                if take(":") {
                    guard let rest = number(0...59) else { return nil }
                    seconds += rest
                }
            }
            return isNegative ? -seconds : seconds
        }

        mutating func change() -> Change? {
            let day: Change.Day
            if take("M") {
                guard let month = number(1...12), take("."), let week = number(1...5), take("."),
                    let weekday = number(0...6)
                else { return nil }
                day = .weekday(weekday, week: week, month: month)
            } else if take("J") {
                guard let number = number(1...365) else { return nil }
                day = .julian(number)
            } else {
                guard let number = number(0...365) else { return nil }
                day = .number(number)
            }
            if !take("/") { return Change(day: day, time: 7200) }
            guard let time = time(hours: Self.transitionHours) else { return nil }
            return Change(day: day, time: time)
        }
    }
}
