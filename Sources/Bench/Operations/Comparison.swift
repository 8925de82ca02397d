import Foundation

/// Compares one of our operations with the four usual ways. All are measured in turns.
struct Comparison {
    private let name: String
    private var ours: [Cost] = []
    private var others: [Way: [Cost]] = [:]

    static let rounds = 7

    init(
        _ name: String, _ shape: Shape, isolation: isolated (any Actor)? = #isolation, _ ours: () async -> Cost
    ) async {
        self.name = name
        for _ in 0..<Self.rounds {
            self.ours.append(await ours())
            for way in Way.allCases { others[way, default: []].append(await way.cost(shape)) }
        }
    }

    /// Returns time and memory as two rows, with the ratio to one of the ways. The limits are half of the
    /// figures of the published library.
    func rows(to way: Way, nanoseconds: Double, allocations: Double) -> [Row] {
        [
            row(to: way, "ns", limit: nanoseconds) { $0.nanoseconds },
            row(to: way, allocations: allocations),
        ]
    }

    /// Returns memory as a row.
    func row(to way: Way, allocations: Double) -> Row {
        row(to: way, "allocations", limit: allocations) { $0.allocations }
    }

    /// Returns time as a row, with a limit for the ratio to one of the ways.
    func row(to way: Way, ratio: Double) -> Row {
        Row(
            "\(name) (to \(way.rawValue))", ours.map(\.nanoseconds).median,
            to: (others[way] ?? []).map(\.nanoseconds).median, "ns", ratio: .atMost(ratio))
    }

    private func row(to way: Way, _ unit: String, limit: Double, _ figure: (Cost) -> Double) -> Row {
        let mine = ours.map(figure).median
        let beside = others.mapValues { $0.map(figure).median }
        let baseline = beside[way] ?? 0
        return Row(
            name: "\(name) (to \(way.rawValue))", ratio: baseline > 0 ? mine / baseline : nil, ours: mine,
            baseline: baseline, beside: Way.allCases.map { Row.Beside(name: $0.rawValue, value: beside[$0] ?? 0) },
            unit: unit, limit: String(format: "≤ %g", limit),
            // Other work of the process, such as growing an array once, is not a cost of an operation.
            holds: mine < limit + 0.05)
    }
}

/// Compares the cost per element of many elements with that of few, measured in turns. The costs are equal if
/// the total is linear. The ratio grows somewhat when the memory no longer fits into the caches; for a
/// quadratic total it would be `many` divided by `few`.
func linear(_ name: String, _ many: Int, beside few: Int, _ cost: (Int) -> Cost) -> Row {
    var mine: [Double] = []
    var baseline: [Double] = []
    for _ in 0..<Comparison.rounds {
        mine.append(cost(many).nanoseconds)
        // Measure the same number of elements in total, so that costs that occur once are distributed alike.
        baseline.append((0..<min(many / few, 20)).map { _ in cost(few).nanoseconds }.median)
    }
    return Row(
        "\(name), each of \(many) beside each of \(few)", mine.median, to: baseline.median, "ns", ratio: .atMost(4))
}
