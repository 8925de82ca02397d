import Jobs

/// Formats times and durations for people.
enum TimeText {
    /// Returns `3m ago`, `in 2h` or `now`.
    static func relative(_ moment: Timestamp, to now: Timestamp) -> String {
        let distance = now - moment
        if distance.milliseconds.magnitude < 1000 { return "now" }
        return distance < .zero ? "in \(coarse(.zero - distance))" : "\(coarse(distance)) ago"
    }

    /// Returns the absolute and the relative time: `2026-07-25T10:00:00.123Z (3m ago)`.
    static func both(_ moment: Timestamp, now: Timestamp) -> StyledText {
        "\(moment.iso8601) \("(\(relative(moment, to: now)))", .dim)"
    }

    /// Returns a duration in two units: `350ms`, `1.2s`, `2m 3s`, `3h 12m`, `5d 2h`.
    static func duration(_ duration: Duration) -> String {
        let milliseconds = max(duration.milliseconds, 0)
        switch milliseconds {
        case ..<1000: return "\(milliseconds)ms"
        case ..<60_000: return "\(milliseconds / 1000).\(milliseconds % 1000 / 100)s"
        case ..<3_600_000: return "\(milliseconds / 60_000)m \(milliseconds / 1000 % 60)s"
        case ..<86_400_000: return "\(milliseconds / 3_600_000)h \(milliseconds / 60_000 % 60)m"
        default: return "\(milliseconds / 86_400_000)d \(milliseconds / 3_600_000 % 24)h"
        }
    }

    /// Returns a duration in one unit: `45s`, `3m`, `2h`, `5d`.
    static func coarse(_ duration: Duration) -> String {
        let seconds = max(duration.milliseconds, 0) / 1000
        switch seconds {
        case ..<60: return "\(seconds)s"
        case ..<3600: return "\(seconds / 60)m"
        case ..<86_400: return "\(seconds / 3600)h"
        default: return "\(seconds / 86_400)d"
        }
    }
}
