import CivilCalendar

extension CalendarExpression: CustomStringConvertible {
    /// The normalized form, as printed by `systemd-analyze calendar`, such as `Mon *-*-* 09:00:00 Europe/Berlin`.
    public var description: String {
        var text = ""
        if let weekdays { text = Self.text(weekdays) + " " }
        text += "\(Self.text(years, width: 4))-\(Self.text(months))\(areDaysFromEnd ? "~" : "-")\(Self.text(days)) "
        text += "\(Self.text(hours)):\(Self.text(minutes)):\(secondsText)"
        switch zone {
        case .local: break
        case .utc: text += " UTC"
        case .named(let name): text += " " + name
        }
        return text
    }

    private static func text(_ weekdays: UInt8) -> String {
        var parts: [String] = []
        var day = 0
        while day < 7 {
            let start = day
            while day < 7, weekdays & 1 << UInt8(day) != 0 { day += 1 }
            switch day - start {
            case 0: day += 1
            case 1: parts.append(CivilDate.weekdayNames[start])
            case 2: parts.append("\(CivilDate.weekdayNames[start]),\(CivilDate.weekdayNames[day - 1])")
            default: parts.append("\(CivilDate.weekdayNames[start])..\(CivilDate.weekdayNames[day - 1])")
            }
        }
        return parts.joined(separator: ",")
    }

    private static func text(_ values: Values, width: Int = 2) -> String {
        guard case .list(let components) = values else { return "*" }
        return components.map { component in
            var text = component.start.padded(width)
            if let last = component.last { text += ".." + last.padded(width) }
            if let step = component.step, component.last == nil || step != 1 { text += "/\(step)" }
            return text
        }.joined(separator: ",")
    }

    private var secondsText: String {
        guard case .list(let components) = microseconds else { return "*" }
        let second = 1_000_000
        if components == [Component(start: 0, last: nil, step: second)] { return "*" }
        func text(_ value: Int, width: Int) -> String {
            let fraction = value % second
            return (value / second).padded(width) + (fraction > 0 ? "." + fraction.padded(6) : "")
        }
        return components.map { component in
            var result = text(component.start, width: 2)
            if let last = component.last { result += ".." + text(last, width: 2) }
            if let step = component.step, component.last == nil || step != second {
                result += "/" + text(step, width: 1)
            }
            return result
        }.joined(separator: ",")
    }
}
