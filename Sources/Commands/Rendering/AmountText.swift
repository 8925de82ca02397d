import Jobs

/// Formats numbers for people.
enum AmountText {
    /// `512 B`, `1.5 KiB`, `64.0 MiB`.
    static func bytes(_ count: Int64) -> String {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        if count < 1024 { return "\(count) B" }
        var value = Double(count) / 1024
        var unit = 0
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// Formats an amount in the unit in which the work is counted.
    static func amount(_ count: Int64, unit: String) -> String {
        unit == "bytes" ? bytes(count) : "\(grouped(count)) \(unit)"
    }

    /// `1.2s CPU, 48.0 MiB`.
    static func usage(_ usage: AttemptUsage) -> String {
        [usage.processorTime.map { "\(TimeText.duration($0)) CPU" }, usage.peakMemory.map(bytes)].compactMap(\.self)
            .joined(separator: ", ")
    }

    /// `1,234,567`.
    static func grouped(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return number < 0 ? "-" + text : text
    }

    /// `1 job`, `2 jobs`.
    static func count(_ number: some BinaryInteger, _ noun: String) -> String {
        "\(grouped(Int64(number))) \(noun)\(number == 1 ? "" : "s")"
    }
}
