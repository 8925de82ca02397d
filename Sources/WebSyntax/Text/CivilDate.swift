/// A day in the Gregorian calendar, in the years 1 to 9999.
package struct CivilDate: Hashable, Sendable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// Returns nil for a day that does not exist and for a year outside 1 to 9999.
    package init?(year: Int, month: Int, day: Int) {
        let lengths = [
            31, year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
        ]
        guard (1...9999).contains(year), (1...12).contains(month), (1...lengths[month - 1]).contains(day) else {
            return nil
        }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// The number of days since 1 January 1970, negative for earlier days. Computed with Howard Hinnant's algorithm, in
    /// which a year begins in March.
    package var daysSince1970: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return Int64(era * 146097 + dayOfEra - 719468)
    }

    /// Returns the number of an English month name. The name may be abbreviated to three or more letters, in any case.
    package static func month(named name: some StringProtocol) -> Int? {
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

extension CivilDate {
    /// Creates the day from ``daysSince1970``, with the same algorithm. Returns nil for a day outside the years 1 to
    /// 9999.
    package init?(daysSince1970 days: Int64) {
        let shifted = Int(days) + 719468
        guard shifted >= 0 else { return nil }
        let era = shifted / 146097
        let dayOfEra = shifted - era * 146097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthIndex = (5 * dayOfYear + 2) / 153
        let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * monthIndex + 2) / 5 + 1)
    }
}
