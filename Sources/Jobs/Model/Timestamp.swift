/// A moment of the wall clock: milliseconds since 1970 in UTC, without leap seconds.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public let milliseconds: Int64

    /// Creates the moment this many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    /// The moment a duration later. A result out of range becomes the nearest moment that can be represented.
    public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = moment.milliseconds.addingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (sum < 0 ? .max : .min) : sum)
    }

    /// The time from `earlier` to `later`, negative if `later` comes first. A result out of range becomes the nearest
    /// value in range.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        let (difference, overflow) = later.milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return .milliseconds(overflow ? (difference < 0 ? .max : .min) : difference)
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero. A duration too long for `Int64` becomes the largest or smallest value.
    public var milliseconds: Int64 {
        if self >= .milliseconds(Int64.max) { return .max }
        if self <= .milliseconds(Int64.min) { return .min }
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
