import OperationTypes

/// Formats the progress of a run, with a bar, the rate and the remaining time.
enum ProgressText {
    /// Returns an amount such as `26.8 of 64.0 MiB`, without times.
    static func amount(_ progress: OperationProgress) -> String {
        let done = AmountText.amount(progress.completed, unit: progress.unit)
        guard let total = progress.total else { return done }
        let all = AmountText.amount(total, unit: progress.unit)
        // The unit is written once, unless the two differ.
        let unit = all.firstIndex(of: " ").map { all[$0...] } ?? ""
        return "\(done.hasSuffix(unit) ? done.dropLast(unit.count) : done[...]) of \(all)"
    }

    static func line(_ progress: OperationProgress) -> StyledText {
        guard let fraction = fraction(progress) else { return "\(amount(progress))" }
        if progress.unit == percentUnit { return "\(percent(fraction))" }
        return "\(percent(fraction)) (\(amount(progress)))"
    }

    /// - Parameter rate: Units per second; nil if it is not known yet.
    static func line(_ progress: OperationProgress, rate: Double?) -> StyledText {
        var text = StyledText()
        let isPercent = progress.unit == percentUnit
        if let fraction = fraction(progress) {
            text += "\(bar(fraction), .blue) \(padded(percent(fraction)))\(isPercent ? "" : "  ")"
        }
        if !isPercent || progress.total == nil { text += "\(amount(progress))" }
        guard let rate, rate > 0 else { return text }
        text += "  \(AmountText.amount(Int64(rate.rounded()), unit: progress.unit))/s"
        if let total = progress.total, total > progress.completed {
            let seconds = Double(total - progress.completed) / rate
            // Beyond a year, the estimate is meaningless.
            if seconds < 31_536_000 { text += "  \("ETA", .dim) \(TimeText.duration(.seconds(seconds)))" }
        }
        return text
    }

    static func fraction(_ progress: OperationProgress) -> Double? {
        guard let total = progress.total, total > 0 else { return nil }
        return min(1, max(0, Double(progress.completed) / Double(total)))
    }

    private static let percentUnit = "percent"
    private static let barWidth = 20

    private static func bar(_ fraction: Double) -> String {
        let eighths = Int(fraction * Double(barWidth * 8))
        let full = eighths / 8
        var text = String(repeating: "█", count: full)
        if full < barWidth {
            text += ["░", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
            text += String(repeating: "░", count: barWidth - full - 1)
        }
        return text
    }

    /// Rounds down, so that 100 % means complete.
    private static func percent(_ fraction: Double) -> String { "\(Int(fraction * 100)) %" }

    /// A percentage as wide as `100 %`, since it changes in place.
    private static func padded(_ percent: String) -> String {
        String(repeating: " ", count: max(0, 5 - percent.count)) + percent
    }
}
