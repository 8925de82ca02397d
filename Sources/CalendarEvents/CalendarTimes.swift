/// Calculates the next time of one or more calendar expressions, with their time zones loaded.
public struct CalendarTimes: Sendable {
    private struct Timed {
        let expression: CalendarExpression
        let zone: Zone
        /// True if the expression names the local zone's daylight time, such as `CEST`, and false if it names its
        /// standard time; nil if it names neither.
        let isDaylight: Bool?
    }

    private let timed: [Timed]

    /// Loads the zones that the expressions name.
    ///
    /// - Parameter local: The zone for expressions that name no zone, or that name one of its abbreviations.
    /// - Throws: ``ZoneProblem`` for the first zone that cannot be used. Trying again reads the file again.
    public init(_ expressions: [CalendarExpression], local: Zone) throws(ZoneProblem) {
        var timed: [Timed] = []
        for expression in expressions {
            switch expression.zone {
            case .local: timed.append(Timed(expression: expression, zone: local, isDaylight: nil))
            case .utc: timed.append(Timed(expression: expression, zone: .utc, isDaylight: nil))
            case .named(let name):
                let isDaylight = [false, true].first {
                    local.abbreviation(ofDaylight: $0)?.lowercased() == name.lowercased()
                }
                let zone = isDaylight == nil ? try Zone(named: name) : local
                timed.append(Timed(expression: expression, zone: zone, isDaylight: isDaylight))
            }
        }
        self.timed = timed
    }

    /// The next time of all expressions after a moment, in microseconds since 1970; nil if there is none up to
    /// ``CalendarExpression/lastYear``.
    ///
    /// A local time that is skipped when clocks are set forward does not count. A local time that occurs twice when
    /// clocks are set back counts only once, at its first occurrence. The second occurrence never counts, even if
    /// `microseconds` is after the first one.
    public func next(after microseconds: Int) -> Int? {
        timed.compactMap { Self.next($0, after: max(microseconds, 0)) }.min()
    }

    private static func next(_ timed: Timed, after microseconds: Int) -> Int? {
        let zone = timed.zone
        var wall = zone.wall(at: microseconds + 1)
        while let found = timed.expression.first(from: wall) {
            switch zone.moments(showing: found) {
            case .skipped(let end): wall = end
            case .at(let moments):
                wall = WallTime(microseconds: found.microseconds + 1)
                guard let isDaylight = timed.isDaylight else {
                    guard let first = moments.first else { continue }
                    if first.microseconds > microseconds { return first.microseconds }
                    // Clocks are set back and show this time again. Continue with the first time that they have not
                    // shown yet.
                    if let end = zone.wallAtNextTransition(from: first.microseconds, isAfter: false) {
                        wall = max(wall, end)
                    }
                    continue
                }
                let later = moments.filter { $0.microseconds > microseconds }
                if let match = later.first(where: { $0.isDaylight == isDaylight }) { return match.microseconds }
                // The expression names the zone's other time (standard or daylight), so continue at the next
                // transition.
                if let last = moments.last {
                    guard let end = zone.wallAtNextTransition(from: last.microseconds, isAfter: true) else {
                        return nil
                    }
                    wall = max(wall, end)
                }
            }
        }
        return nil
    }
}
