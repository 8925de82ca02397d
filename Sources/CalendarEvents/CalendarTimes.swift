/// One or more expressions with their time zones at hand: when they come next.
public struct CalendarTimes: Sendable {
    private struct Timed {
        let expression: CalendarExpression
        let zone: Zone
        /// The expression names one of the local zone's two times, as `CEST`.
        let isDaylight: Bool?
    }

    private let timed: [Timed]

    /// Reads the zones that are named.
    ///
    /// - Parameter local: For expressions that name no zone, or its abbreviations.
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

    /// The next of them after a moment, in microseconds since 1970; nil when none comes until
    /// ``CalendarExpression/lastYear``.
    ///
    /// A time that clocks are set forward over does not come. One that they show twice comes once, at the first; after
    /// that moment, also when it was not asked for in time, the second does not count.
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
                    // Clocks were set back, and show it again: nothing counts until they show what they have not shown.
                    if let end = zone.wallBeforeNextTransition(from: first.microseconds) { wall = max(wall, end) }
                    continue
                }
                let later = moments.filter { $0.microseconds > microseconds }
                if let match = later.first(where: { $0.isDaylight == isDaylight }) { return match.microseconds }
                // The other of the zone's two times is in force: nothing comes before it ends.
                if let last = moments.last {
                    guard let end = zone.wallAfterNextTransition(from: last.microseconds) else { return nil }
                    wall = max(wall, end)
                }
            }
        }
        return nil
    }
}
