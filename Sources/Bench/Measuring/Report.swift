import Foundation

/// One measured row: our figure and, if there is a baseline from the same run, the ratio to it.
struct Row: Codable {
    var name: String
    /// Our figure divided by the baseline's, both in `unit`; nil without a baseline.
    var ratio: Double?
    var ours: Double
    var baseline: Double?
    /// Figures of other ways to do the same, for comparison.
    var beside: [Beside]?
    var unit: String
    /// The limit, in words, such as `≥ 0.5`.
    var limit: String
    var holds: Bool

    struct Beside: Codable {
        var name: String
        var value: Double
    }
}

/// A bound for a figure or for a ratio.
enum Limit {
    case atMost(Double)
    case atLeast(Double)

    var text: String {
        switch self {
        case .atMost(let bound): String(format: "≤ %g", bound)
        case .atLeast(let bound): String(format: "≥ %g", bound)
        }
    }

    func holds(_ value: Double) -> Bool {
        switch self {
        case .atMost(let bound): value <= bound
        case .atLeast(let bound): value >= bound
        }
    }
}

extension Row {
    /// A figure with its own limit.
    init(_ name: String, _ ours: Double, _ unit: String, _ limit: Limit) {
        self.init(name: name, ours: ours, unit: unit, limit: limit.text, holds: limit.holds(ours))
    }

    /// A figure whose ratio to a baseline has a limit; nil for none.
    init(_ name: String, _ ours: Double, to baseline: Double, _ unit: String, ratio limit: Limit?) {
        let ratio = ours / baseline
        self.init(
            name: name, ratio: ratio, ours: ours, baseline: baseline, unit: unit, limit: limit?.text ?? "-",
            holds: limit?.holds(ratio) ?? true)
    }
}

/// The output of a bench: a table for people on standard output, followed by one line of JSON.
struct Report {
    private(set) var rows: [Row] = []

    mutating func add(_ measured: [Row]) {
        rows += measured
        for row in measured { FileHandle.standardError.write(Data("measured \(row.name)\n".utf8)) }
    }

    func print() throws {
        let beside = rows.compactMap(\.beside).first?.map(\.name) ?? []
        let titles = ["ratio", "what", "ours", "baseline"] + beside + ["unit", "limit", ""]
        let cells = rows.map { row in
            [
                row.ratio.map { Self.number($0) } ?? "-", row.name, Self.number(row.ours),
                row.baseline.map { Self.number($0) } ?? "-",
            ] + (row.beside?.map { Self.number($0.value) } ?? beside.map { _ in "-" }) + [
                row.unit, row.limit, row.holds ? "holds" : "MISSED",
            ]
        }
        let widths = titles.indices.map { column in ([titles] + cells).map { $0[column].count }.max() ?? 0 }
        for line in [titles] + cells {
            let padded = zip(line, widths).map { $0.0 + String(repeating: " ", count: $0.1 - $0.0.count) }
            Swift.print(padded.joined(separator: "  ").trimmingCharacters(in: .whitespaces))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        Swift.print(String(decoding: try encoder.encode(rows), as: UTF8.self))
    }

    private static func number(_ value: Double) -> String {
        switch abs(value) {
        case 1000...: String(format: "%.0f", value)
        case 10...: String(format: "%.1f", value)
        default: String(format: "%.3f", value)
        }
    }
}

extension [Double] {
    var median: Double { percentile(0.5) }

    /// Returns the value below which the share `p` of the values lies, such as 0.5 for the median.
    func percentile(_ p: Double) -> Double {
        precondition(!isEmpty, "a percentile needs a value")
        return sorted()[Int(Double(count - 1) * p)]
    }
}

/// Repeats a measurement that returns several figures, and returns the median of each.
func medians(
    ofRounds rounds: Int, isolation: isolated (any Actor)? = #isolation, _ measure: () async throws -> [Double]
) async rethrows -> [Double] {
    var measured: [[Double]] = []
    for _ in 0..<rounds { measured.append(try await measure()) }
    return measured[0].indices.map { figure in measured.map { $0[figure] }.median }
}

extension ContinuousClock.Instant {
    /// The milliseconds since this instant.
    var milliseconds: Double { (ContinuousClock.now - self) / .milliseconds(1) }
}
