import CivilCalendar

/// A time zone: the local time at each moment until ``CalendarExpression/lastYear``.
public struct Zone: Sendable {
    /// The offset and abbreviation that apply between two transitions.
    struct Period: Hashable {
        /// The offset from UTC in seconds, positive east of Greenwich.
        var offset: Int
        var isDaylight: Bool
        var abbreviation: String
    }

    /// The name in the IANA database, or another name if the zone was not loaded from there.
    public let name: String
    /// The moments of transitions, in seconds since 1970, sorted. `periods` has one more element, for the time before
    /// the first transition.
    private let transitions: [Int]
    private let periods: [Period]
    /// The largest offset in either direction: local time is never further from UTC than this.
    private let maxOffset: Int

    /// Coordinated Universal Time.
    public static let utc = Zone(name: "UTC", initial: Period(offset: 0, isDaylight: false, abbreviation: "UTC"), [])

    init(name: String, initial: Period, _ changes: [(at: Int, Period)]) {
        self.name = name
        transitions = changes.map(\.at)
        periods = [initial] + changes.map(\.1)
        maxOffset = periods.map { abs($0.offset) }.max() ?? 0
    }

    /// The most recent abbreviation of standard or daylight time, such as `CET` or `CEST`.
    func abbreviation(ofDaylight isDaylight: Bool) -> String? {
        periods.last { $0.isDaylight == isDaylight }?.abbreviation
    }

    /// The number of transitions at or before a moment, in seconds since 1970.
    private func index(at second: Int) -> Int {
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= second { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func period(at microseconds: Int) -> Period { periods[index(at: floorDivide(microseconds, 1_000_000))] }

    func wall(at microseconds: Int) -> WallTime {
        WallTime(microseconds: microseconds + period(at: microseconds).offset * 1_000_000)
    }

    /// The local time as text, such as `Sun 2026-10-25 02:30:00 CEST`, with a fraction of a second if there is one.
    ///
    /// - Parameter microseconds: The moment, in microseconds since 1970.
    public func text(_ microseconds: Int) -> String {
        let wall = wall(at: microseconds)
        let day = wall.day
        let time = wall.microsecondOfDay
        let fraction = time % 1_000_000
        return
            "\(CivilDate.weekdayNames[day.weekday]) \(day.year.padded(4))-\(day.month.padded(2))-\(day.day.padded(2)) "
            + "\((time / 3_600_000_000).padded(2)):\((time / 60_000_000 % 60).padded(2)):"
            + "\((time / 1_000_000 % 60).padded(2))\(fraction == 0 ? "" : ".\(fraction.padded(6))") "
            + period(at: microseconds).abbreviation
    }

    // MARK: From the wall

    /// The moments at which local clocks show a given time.
    enum Moments {
        /// One moment, or two in order if clocks are set back over the given time.
        case at([(microseconds: Int, isDaylight: Bool)])
        /// No moment, because clocks are set forward over the given time, to this one.
        case skipped(to: WallTime)
    }

    func moments(showing wall: WallTime) -> Moments {
        let second = floorDivide(wall.microseconds, 1_000_000)
        // The moments, and a transition that skips them, lie within the largest offset of the same time in UTC.
        let near = index(at: second - maxOffset)...index(at: second + maxOffset)
        var found: [(microseconds: Int, isDaylight: Bool)] = []
        for index in near {
            let moment = second - periods[index].offset
            guard self.index(at: moment) == index else { continue }
            found.append((wall.microseconds - periods[index].offset * 1_000_000, periods[index].isDaylight))
        }
        if !found.isEmpty { return .at(found.sorted { $0.microseconds < $1.microseconds }) }
        for index in near.dropFirst() {
            let before = transitions[index - 1] + periods[index - 1].offset
            let after = transitions[index - 1] + periods[index].offset
            if before <= second, second < after { return .skipped(to: WallTime(microseconds: after * 1_000_000)) }
        }
        preconditionFailure("a transition must skip a local time that is in no period")
    }

    /// The local time at the next transition, in the offset before or after it; nil after the last transition.
    func wallAtNextTransition(from microseconds: Int, isAfter: Bool) -> WallTime? {
        let index = index(at: floorDivide(microseconds, 1_000_000))
        guard index < transitions.count else { return nil }
        return WallTime(microseconds: (transitions[index] + periods[isAfter ? index + 1 : index].offset) * 1_000_000)
    }
}
