import CivilCalendar

extension CivilDate {
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
