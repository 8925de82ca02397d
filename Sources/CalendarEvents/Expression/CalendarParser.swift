import CivilCalendar

/// Parses the complete syntax, and reports the position of the first error.
struct CalendarParser {
    private let text: String
    private let bytes: [UInt8]
    /// The end of the expression, before the time zone.
    private var end: Int
    var index = 0

    /// A component and its position in the text.
    typealias Placed = (component: Component, at: Int)
    /// The components of a list; nil for `*`.
    typealias Chain = [Placed]?

    /// The same number as in systemd, whose limit of 240 counts from zero.
    static let maxComponents = 241
    private static let maxBytes = 4096
    static let second = 1_000_000

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
        end = bytes.count
    }

    mutating func expression() throws(CalendarProblem) -> CalendarExpression {
        if bytes.count > Self.maxBytes {
            throw CalendarProblem(
                text: String(text.prefix(40)) + "…", column: 1,
                message: "expected at most \(Self.maxBytes) bytes, found \(bytes.count)")
        }
        let zone = takeZone()
        if end == 0 { throw problem(0, "expected a calendar expression such as Mon *-*-* 09:00, found nothing") }
        if var shorthand = Self.shorthand(word(0..<end).lowercased()) {
            shorthand.zone = zone
            return shorthand
        }
        let weekdays = try readWeekdays()
        var expression = try readDateAndTime()
        expression.weekdays = weekdays == 0 || weekdays == 127 ? nil : weekdays
        if zone != .local { expression.zone = zone }
        return expression
    }

    // MARK: Words

    /// Removes the last word from the text if it could be the name of a time zone.
    private mutating func takeZone() -> CalendarExpression.ZoneName {
        guard let space = bytes.lastIndex(of: UInt8(ascii: " ")) else { return .local }
        let name = word(space + 1..<bytes.count)
        if name.lowercased() == "utc" {
            end = space
            return .utc
        }
        guard Zone.isName(name), name.utf8.contains(where: { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }),
            Self.weekday(name) == nil
        else { return .local }
        end = space
        return .named(name)
    }

    private static func shorthand(_ word: String) -> CalendarExpression? {
        func midnight(weekdays: UInt8? = nil, months: Values = .any, days: Values = .only(1)) -> CalendarExpression {
            CalendarExpression(
                weekdays: weekdays, months: months, days: days, hours: .only(0), minutes: .only(0),
                microseconds: .only(0))
        }
        return switch word {
        case "minutely": CalendarExpression(hours: .any, minutes: .any, microseconds: .only(0))
        case "hourly": CalendarExpression(hours: .any, minutes: .only(0), microseconds: .only(0))
        case "daily": midnight(days: .any)
        case "weekly": midnight(weekdays: 1, days: .any)
        case "monthly": midnight()
        case "quarterly": midnight(months: .only(1, 4, 7, 10))
        case "semiannually", "semi-annually", "biannually", "bi-annually": midnight(months: .only(1, 7))
        case "yearly", "annually", "anually": midnight(months: .only(1))
        default: nil
        }
    }

    private static let weekdayNames = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    private static func weekday(_ word: String) -> Int? {
        let word = word.lowercased()
        return weekdayNames.firstIndex { $0 == word || (word.utf8.count == 3 && $0.hasPrefix(word)) }
    }

    // MARK: Weekdays

    /// Reads weekdays, and returns one bit for each; zero if there are none.
    private mutating func readWeekdays() throws(CalendarProblem) -> UInt8 {
        var bits: UInt8 = 0
        var rangeStart: Int?
        guard isLetter(peek) else { return 0 }
        while true {
            let start = index
            while isLetter(peek) { index += 1 }
            guard let day = Self.weekday(word(start..<index)) else { throw unknownWord(start) }
            if let from = rangeStart {
                if from > day {
                    throw problem(start, "the range ends before it begins; write it as two ranges, joined by \",\"")
                }
                for between in from...day { bits |= 1 << UInt8(between) }
            }
            bits |= 1 << UInt8(day)
            switch peek {
            case nil, UInt8(ascii: " "):
                skipSpaces()
                return bits
            case UInt8(ascii: ","):
                index += 1
                rangeStart = nil
            // A "-" is the older syntax for a range.
            case UInt8(ascii: "-") where rangeStart == nil:
                index += 1
                rangeStart = day
            case UInt8(ascii: ".") where rangeStart == nil && peek(1) == UInt8(ascii: "."):
                index += 2
                rangeStart = day
            default:
                throw problem(index, "expected \",\", \"..\" or a space after the weekday, found \(found(index))")
            }
            if peek == nil || peek == UInt8(ascii: " ") {
                if rangeStart != nil {
                    throw problem(index, "expected the weekday that ends the range, found \(found(index))")
                }
                skipSpaces()
                return bits
            }
            if !isLetter(peek) { throw problem(index, "expected a weekday such as Mon, found \(found(index))") }
        }
    }

    private func unknownWord(_ start: Int) -> CalendarProblem {
        if start > 0 { return problem(start, "expected a weekday such as Mon, found \(found(start))") }
        return problem(
            start,
            "expected a weekday such as Mon, a date or time such as *-*-01 09:00, or minutely, hourly, daily, weekly, "
                + "monthly, quarterly, semiannually or yearly, found \(found(start))")
    }

    // MARK: Dates and times

    private mutating func readDateAndTime() throws(CalendarProblem) -> CalendarExpression {
        if take("@") { return try readSeconds() }
        var expression = CalendarExpression(hours: .only(0), minutes: .only(0), microseconds: .only(0))
        if peek == nil { return expression }
        let start = index
        let first = try readChain("year, month or hour")
        // A ":" shows that this is a time and not a date.
        if peek == UInt8(ascii: ":") || peek == nil {
            index = start
        } else {
            try readDate(first, into: &expression)
            if peek == nil { return expression }
        }
        try readTime(into: &expression)
        return expression
    }

    private mutating func readDate(
        _ first: Chain, into expression: inout CalendarExpression
    ) throws(CalendarProblem) {
        let isFromEnd = try takeDateSeparator()
        let second = try readChain("month or day")
        if peek == nil || peek == UInt8(ascii: " ") {
            expression.months = try values(first, .month)
            try setDays(second, isFromEnd, in: &expression)
        } else {
            if isFromEnd { throw problem(index, "expected a space or the end after the day, found \(found(index))") }
            let isThirdFromEnd = try takeDateSeparator()
            let third = try readChain("day")
            guard peek == nil || peek == UInt8(ascii: " ") else {
                throw problem(index, "expected a space or the end after the date, found \(found(index))")
            }
            expression.years = try values(first, .year)
            expression.months = try values(second, .month)
            try setDays(third, isThirdFromEnd, in: &expression)
        }
        skipSpaces()
    }

    private func setDays(
        _ chain: Chain, _ areFromEnd: Bool, in expression: inout CalendarExpression
    ) throws(CalendarProblem) {
        expression.days = try values(chain, areFromEnd ? .dayFromEnd : .day)
        expression.areDaysFromEnd = areFromEnd && expression.days != .any
    }

    /// Reads the separator between parts of a date. Returns whether it is "~", after which days count from the month's
    /// end.
    private mutating func takeDateSeparator() throws(CalendarProblem) -> Bool {
        if take("~") { return true }
        if take("-") { return false }
        throw problem(
            index, "expected \"-\" and the rest of a date, or \":\" and the rest of a time, found \(found(index))")
    }

    private mutating func readTime(into expression: inout CalendarExpression) throws(CalendarProblem) {
        expression.hours = try values(readChain("hour"), .hour)
        guard take(":") else {
            throw problem(index, "expected \":\" and minutes after the hour, found \(found(index))")
        }
        expression.minutes = try values(readChain("minute"), .minute)
        if peek == nil { return }
        guard take(":") else {
            throw problem(index, "expected \":\" and seconds, or the end, found \(found(index))")
        }
        let seconds = try readChain("second", isMicroseconds: true)
        // Every second, but no fractions of seconds.
        let any = Values.list([Component(start: 0, last: nil, step: Self.second)])
        expression.microseconds = seconds == nil ? any : try values(seconds, .second)
        if peek != nil {
            throw problem(index, "expected the end, or a space and a time zone such as UTC, found \(found(index))")
        }
    }

    /// Reads a number of seconds since 1970, such as `@1234567890`. The expression matches only that moment.
    private mutating func readSeconds() throws(CalendarProblem) -> CalendarExpression {
        let start = index
        let seconds = try readNumber("seconds since 1970", limit: 1 << 40)
        if peek != nil { throw problem(index, "expected the end after the seconds, found \(found(index))") }
        let wall = WallTime(microseconds: seconds * Self.second)
        let day = wall.day
        if day.year > CalendarExpression.lastYear {
            throw problem(start, "expected a time up to the year \(CalendarExpression.lastYear), found \(seconds)")
        }
        let time = wall.microsecondOfDay / Self.second
        return CalendarExpression(
            zone: .utc, years: .only(day.year), months: .only(day.month), days: .only(day.day),
            hours: .only(time / 3600), minutes: .only(time / 60 % 60), microseconds: .only(time % 60 * Self.second))
    }

    // MARK: Reading

    var peek: UInt8? { index < end ? bytes[index] : nil }
    func peek(_ offset: Int) -> UInt8? { index + offset < end ? bytes[index + offset] : nil }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func skipSpaces() { while peek == UInt8(ascii: " ") { index += 1 } }

    private func isLetter(_ byte: UInt8?) -> Bool { byte.map { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A } ?? false }

    func digit(_ byte: UInt8?) -> Int? {
        guard let byte, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        return Int(byte - UInt8(ascii: "0"))
    }

    private func word(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// The text at a position, up to the next space.
    func found(_ start: Int) -> String {
        if start >= end { return "the end" }
        let stop = bytes[start..<end].dropFirst().firstIndex(of: UInt8(ascii: " ")) ?? end
        return "\"\(word(start..<min(stop, start + 40)))\""
    }

    func problem(_ index: Int, _ message: String) -> CalendarProblem {
        // Columns count characters, not bytes.
        let column = String(decoding: bytes[..<min(index, bytes.count)], as: UTF8.self).count + 1
        return CalendarProblem(text: text, column: column, message: message)
    }
}
