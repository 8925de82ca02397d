import Foundation

/// Something of ours beside the four usual ways, all measured in turns.
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

    /// Time and memory as two rows, with the ratio to one of the ways; the limits are half of what the published code takes.
    func rows(to way: Way, nanoseconds: Double, allocations: Double) -> [Row] {
        [
            row(to: way, "ns", limit: nanoseconds) { $0.nanoseconds },
            row(to: way, allocations: allocations),
        ]
    }

    /// Memory as a row.
    func row(to way: Way, allocations: Double) -> Row {
        row(to: way, "allocations", limit: allocations) { $0.allocations }
    }

    /// Time as a row, with a limit to the ratio to one of the ways.
    func row(to way: Way, ratio: Double) -> Row {
        let mine = ours.map { $0.nanoseconds }.median
        let baseline = (others[way] ?? []).map { $0.nanoseconds }.median
        return Row(
            name: "\(name) (to \(way.rawValue))", ratio: mine / baseline, ours: mine, baseline: baseline, unit: "ns",
            limit: String(format: "ratio ≤ %g", ratio), holds: mine / baseline <= ratio)
    }

    private func row(to way: Way, _ unit: String, limit: Double, _ figure: (Cost) -> Double) -> Row {
        let mine = ours.map(figure).median
        let beside = others.mapValues { $0.map(figure).median }
        let baseline = beside[way] ?? 0
        return Row(
            name: "\(name) (to \(way.rawValue))", ratio: baseline > 0 ? mine / baseline : nil, ours: mine,
            baseline: baseline, beside: Way.allCases.map { Row.Beside(name: $0.rawValue, value: beside[$0] ?? 0) },
            unit: unit, limit: String(format: "≤ %g", limit),
            // Other work of the process, such as growing an array once, is not a cost of each operation.
            holds: mine < limit + 0.05)
    }
}

/// The cost of each of many beside that of each of few, in turns: equal where the whole is linear. Memory that no longer fits
/// the caches takes its share, a quadratic whole would take that of `many` to `few`.
func linear(_ name: String, _ many: Int, beside few: Int, _ cost: (Int) -> Cost) -> Row {
    var mine: [Double] = []
    var baseline: [Double] = []
    for _ in 0..<Comparison.rounds {
        mine.append(cost(many).nanoseconds)
        // As many in all, so that what happens once is spread alike.
        baseline.append((0..<min(many / few, 20)).map { _ in cost(few).nanoseconds }.median)
    }
    let ratio = mine.median / baseline.median
    return Row(
        name: "\(name), each of \(many) beside each of \(few)", ratio: ratio, ours: mine.median,
        baseline: baseline.median,
        unit: "ns", limit: "ratio ≤ 4", holds: ratio <= 4)
}
