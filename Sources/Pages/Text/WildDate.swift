import CivilCalendar
import WebSyntax

/// Converts dates from the many forms that pages use to ISO 8601. Nothing is added that the page does not state, such
/// as a time or a zone.
enum WildDate {
    /// The meaning of `03/02/2024`.
    enum Order: Sendable { case dayFirst, monthFirst }

    /// Finds a date in a text and converts it.
    ///
    /// - Parameter order: The order of day and month in numeric dates. If it is nil, an ambiguous date is not accepted.
    /// - Returns: `2024-02-03`, `2024-02-03T04:05:06`, or the latter with `Z` or an offset such as `+01:00`. Nil if the
    ///   text contains no date between 1990 and 2100.
    static func iso(_ text: String, order: Order? = nil) -> String? {
        let text = text.tidied
        guard text.utf8.count <= 160, text.utf8.contains(where: { (0x30...0x39).contains($0) }) else { return nil }
        let tokens = tokenize(text)
        return epoch(text) ?? numeric(tokens, order) ?? named(tokens)
    }

    static func isMonth(_ word: String) -> Bool { month(word) != nil }

    /// Returns the number of days from one date to another, both in the form that ``iso(_:order:)`` returns.
    static func days(from first: String, to second: String) -> Int {
        func number(_ text: String) -> Int? {
            let parts = text.prefix(10).split(separator: "-").compactMap { Int($0) }
            return parts.count == 3
                ? CivilDate(year: parts[0], month: parts[1], day: parts[2])?.daysSince1970 : nil
        }
        guard let first = number(first), let second = number(second) else { return 0 }
        return second - first
    }

    private enum DateToken: Hashable {
        /// A number: its value and its number of digits.
        case number(Int, Int)
        case word(String)
        case mark(Character)
    }

    private static func tokenize(_ text: String) -> [DateToken] {
        var tokens: [DateToken] = []
        var rest = Substring(text)
        while let first = rest.first {
            if first.isASCII, first.isNumber {
                let digits = rest.prefix { $0.isASCII && $0.isNumber }
                tokens.append(.number(Int(digits.prefix(18)) ?? 0, digits.count))
                rest = rest.dropFirst(digits.count)
            } else if first.isLetter {
                let word = rest.prefix { $0.isLetter || $0 == "'" }
                tokens.append(.word(word.lowercased()))
                rest = rest.dropFirst(word.count)
            } else {
                tokens.append(.mark(first))
                rest = rest.dropFirst()
            }
            if tokens.count > 60 { break }
        }
        return tokens
    }

    private static func epoch(_ text: String) -> String? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.utf8.count == 10 || text.utf8.count == 13,
            var seconds = Int(text)
        else { return nil }
        if text.utf8.count == 13 { seconds /= 1000 }
        let day = CivilDate(daysSince1970: seconds / 86400)
        guard isPlausible(day.year) else { return nil }
        let left = seconds % 86400
        return format(day) + "T" + format(left / 3600, left / 60 % 60, left % 60) + "Z"
    }

    private static func isPlausible(_ year: Int) -> Bool { (1990...2100).contains(year) }

    private static func number(_ tokens: ArraySlice<DateToken>, _ offset: Int) -> (value: Int, digits: Int)? {
        guard tokens.startIndex + offset < tokens.endIndex,
            case .number(let value, let digits) = tokens[tokens.startIndex + offset]
        else {
            return nil
        }
        return (value, digits)
    }

    /// Finds a date in digits: `2024-02-03…`, `2024/2/3`, `20240203`, `03.02.2024`, `25/12/2024`, `12/25/2024`,
    /// `25.12.24`.
    private static func numeric(_ tokens: [DateToken], _ order: Order?) -> String? {
        for start in tokens.indices {
            let rest = tokens[start...]
            guard let first = number(rest, 0) else { continue }
            if first.digits == 8, let day = day(first.value / 10000, first.value / 100 % 100, first.value % 100) {
                return withCompactTime(day, tokens[(start + 1)...]) ?? withTime(day, tokens[(start + 1)...])
            }
            // East Asian dates mark year, month and day with one character each.
            if let day = eastern(rest) { return day }
            guard case .mark(let separator)? = rest.dropFirst().first, "-/.".contains(separator),
                let second = number(rest, 2),
                case .mark(separator)? = rest.dropFirst(3).first, let third = number(rest, 4)
            else { continue }
            // A longer sequence such as `10.12.10.24` is not a date.
            let isAlone = start == 0 || tokens[start - 1] != .mark(separator)
            let found: CivilDate? =
                if first.digits == 4 {
                    day(first.value, second.value, third.value)
                } else if third.digits == 4 {
                    turned(first.value, second.value, third.value, isPointed: separator == ".", order)
                } else if third.digits == 2, first.digits == 2, second.digits == 2, separator != "-", isAlone,
                    rest.dropFirst(5).first != .mark(separator)
                {
                    turned(
                        first.value, second.value, third.value + (third.value < 70 ? 2000 : 1900),
                        isPointed: separator == ".", order)
                } else {
                    nil
                }
            if let found { return withTime(found, tokens[(start + 5)...]) }
        }
        return nil
    }

    /// Decides which of two numbers is the day. With dots the day comes first everywhere, unless the numbers make that
    /// impossible.
    private static func turned(_ first: Int, _ second: Int, _ year: Int, isPointed: Bool, _ order: Order?) -> CivilDate?
    {
        if first > 12 || first == second { return day(year, second, first) }
        if second > 12 { return day(year, first, second) }
        return switch isPointed ? .dayFirst : order {
        case .dayFirst: day(year, second, first)
        case .monthFirst: day(year, first, second)
        case nil: nil
        }
    }

    /// Finds a date with a named month: `24 May 2016`, `May 24th, 2016`, `24. Mai 2016`, `24 de mayo de 2016`, `Tue, 24
    /// May 2016 17:00:00 +0000`.
    private static func named(_ tokens: [DateToken]) -> String? {
        for (index, token) in tokens.enumerated() {
            guard case .word(let word) = token, let month = month(word) else { continue }
            let before = tokens[..<index].suffix(3).reversed().lazy.compactMap { token -> Int? in
                if case .number(let value, let digits) = token, digits <= 2 { return value }
                return nil
            }.first
            let after = tokens[(index + 1)...].prefix(8)
            let numbers = after.enumerated().compactMap { offset, token -> (offset: Int, value: Int, digits: Int)? in
                if case .number(let value, let digits) = token { return (offset, value, digits) }
                return nil
            }
            guard let year = numbers.first(where: { $0.digits == 4 && isPlausible($0.value) }) else { continue }
            let dayAfter = numbers.first { $0.digits <= 2 && $0.offset < year.offset && $0.offset <= 2 }?.value
            guard let dayNumber = dayAfter ?? before, let found = day(year.value, month, dayNumber) else { continue }
            return withTime(found, tokens[(index + 1 + year.offset + 1)...])
        }
        return nil
    }

    /// Reads an East Asian date: `2024年2月3日`, `2024년 2월 3일`.
    private static func eastern(_ tokens: ArraySlice<DateToken>) -> String? {
        let spaceless = tokens.prefix(9).filter { $0 != .mark(" ") }
        guard spaceless.count >= 5, [.word("年"), .word("년")].contains(spaceless[1]),
            [.word("月"), .word("월")].contains(spaceless[3]), let year = number(spaceless[...], 0), year.digits == 4,
            let month = number(spaceless[...], 2), let dayNumber = number(spaceless[...], 4),
            let found = day(year.value, month.value, dayNumber.value)
        else { return nil }
        let end = tokens.indices.dropFirst(4).first {
            if case .number(let value, _) = tokens[$0], value == dayNumber.value { true } else { false }
        }
        return withTime(found, tokens[((end ?? tokens.startIndex) + 1)...])
    }

    private static func day(_ year: Int, _ month: Int, _ day: Int) -> CivilDate? {
        isPlausible(year) ? CivilDate(year: year, month: month, day: day) : nil
    }

    /// Adds a time without colons: `T040506Z`, `T0405+0100`. Returns nil if there is none.
    private static func withCompactTime(_ day: CivilDate, _ rest: ArraySlice<DateToken>) -> String? {
        guard rest.first == .word("t"), let time = number(rest, 1), time.digits == 6 || time.digits == 4 else {
            return nil
        }
        let value = time.digits == 6 ? time.value : time.value * 100
        let (hour, minute, second) = (value / 10000, value / 100 % 100, value % 100)
        guard hour < 24, minute < 60, second < 60 else { return nil }
        return format(day) + "T" + format(hour, minute, second) + zone(rest.dropFirst(2))
    }

    private static func withTime(_ day: CivilDate, _ rest: ArraySlice<DateToken>) -> String {
        let date = format(day)
        // Up to three words or marks may separate date and time: `T`, `,`, `at`, `um`.
        guard
            let start = rest.prefix(4).firstIndex(where: {
                if case .number(_, let digits) = $0 { digits <= 2 } else { false }
            })
        else { return date }
        let time = rest[start...]
        guard var hour = number(time, 0)?.value, case .mark(let colon)? = time.dropFirst().first,
            colon == ":" || colon == ".",
            let minute = number(time, 2), minute.digits == 2, minute.value < 60
        else { return date }
        var at = start + 3
        var second = 0
        if case .mark(":")? = rest[at...].first, let value = number(rest[at...], 1), value.value < 60 {
            second = value.value
            at += 2
            // Fractions of a second are dropped.
            if case .mark(let mark)? = rest[at...].first, mark == "." || mark == ",", number(rest[at...], 1) != nil {
                at += 2
            }
        }
        while case .mark(" ")? = rest[at...].first { at += 1 }
        if case .word(let half)? = rest[at...].first, half == "am" || half == "pm" || half == "a" || half == "p" {
            guard (1...12).contains(hour) else { return date }
            hour = hour % 12 + (half.hasPrefix("p") ? 12 : 0)
            at += 1
            while case .mark(let mark)? = rest[at...].first, mark == " " || mark == "." { at += 1 }
        }
        guard hour < 24 else { return date }
        return date + "T" + format(hour, minute.value, second) + zone(rest[at...])
    }

    private static func zone(_ rest: ArraySlice<DateToken>) -> String {
        switch rest.first {
        case .word("z"), .word("utc"), .word("gmt"):
            guard case .mark(let sign)? = rest.dropFirst().first, "+-".contains(sign) else { return "Z" }
            return zone(rest.dropFirst())
        case .mark(let sign) where sign == "+" || sign == "-" || sign == "−":
            guard let hours = number(rest, 1) else { return "" }
            let (hour, minute): (Int, Int)
            if hours.digits == 4 {
                (hour, minute) = (hours.value / 100, hours.value % 100)
            } else if hours.digits <= 2 {
                var minutes = 0
                if case .mark(":")? = rest.dropFirst(2).first, let value = number(rest, 3) { minutes = value.value }
                (hour, minute) = (hours.value, minutes)
            } else {
                return ""
            }
            guard hour <= 14, minute < 60 else { return "" }
            if hour == 0, minute == 0 { return "Z" }
            return (sign == "+" ? "+" : "-") + two(hour) + ":" + two(minute)
        case .word(let name): return zones[name] ?? ""
        default: return ""
        }
    }

    /// The zones of RFC 5322, 4.3, and those of central Europe.
    private static let zones = [
        "est": "-05:00", "edt": "-04:00", "cst": "-06:00", "cdt": "-05:00", "mst": "-07:00", "mdt": "-06:00",
        "pst": "-08:00", "pdt": "-07:00", "cet": "+01:00", "cest": "+02:00",
    ]

    private static func format(_ day: CivilDate) -> String {
        let year = String(day.year)
        return String(repeating: "0", count: 4 - year.count) + year + "-" + two(day.month) + "-" + two(day.day)
    }

    private static func format(_ hour: Int, _ minute: Int, _ second: Int) -> String {
        two(hour) + ":" + two(minute) + ":" + two(second)
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    private static func month(_ word: String) -> Int? { months[word] }

    /// Names and abbreviations of the months in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish,
    /// Swedish, Danish, Czech, Turkish and Russian.
    private static let months: [String: Int] = {
        let names: [String] = [
            "january jan januar jänner jaenner janvier janv enero ene gennaio gen janeiro januari stycznia styczeń ledna leden ocak января",
            "february feb februar feber février fevrier févr fevr fév febrero febbraio fevereiro fev februari lutego luty února şubat февраля",
            "march mar märz maerz mrz mär mars marzo março marco maart mrt marca marzec března mart марта",
            "april apr avril avr abril abr aprile kwietnia kwiecień dubna nisan апреля",
            "may mai mayo maggio mag maio mei maja maj května mayıs мая",
            "june jun juni juin junio giugno giu junho czerwca czerwiec června haziran июня",
            "july jul juli juillet juil julio luglio lug julho lipca lipiec července temmuz июля",
            "august aug août aout agosto ago augustus augusti sierpnia sierpień srpna ağustos августа",
            "september sep sept septembre septiembre settembre set setembro wrzesnia września wrzesień září eylül сентября",
            "october oct oktober okt octobre octubre ottobre ott outubro out października październik října ekim октября",
            "november nov novembre noviembre novembro listopada listopad listopadu kasım ноября",
            "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro grudnia grudzień prosince aralık декабря",
        ]
        var months: [String: Int] = [:]
        for (index, list) in names.enumerated() {
            for name in list.split(separator: " ") { months[String(name)] = index + 1 }
        }
        return months
    }()
}
