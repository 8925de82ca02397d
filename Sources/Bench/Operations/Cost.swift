import CAllocationCount
import Glibc

/// What one operation costs: CPU time of the whole process, and how often it asks for memory.
struct Cost {
    var nanoseconds: Double
    var allocations: Double

    /// Runs `body`, which does `count` operations.
    static func of(_ count: Int, _ body: () -> Void) -> Cost {
        let before = (processTime(), allocation_count())
        body()
        return since(before, count)
    }

    static func of(_ count: Int, isolation: isolated (any Actor)? = #isolation, _ body: () async -> Void) async -> Cost
    {
        let before = (processTime(), allocation_count())
        await body()
        return since(before, count)
    }

    private static func since(_ before: (UInt64, UInt), _ count: Int) -> Cost {
        let time = processTime() - before.0
        return Cost(
            nanoseconds: Double(time) / Double(count),
            allocations: Double(allocation_count() - before.1) / Double(count))
    }

    private static func processTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}

/// One thing and what it is compared with, measured in turns.
struct Comparison {
    private(set) var ours: [Cost] = []
    private(set) var theirs: [Cost] = []
    private let name: String

    static let rounds = 7

    init(_ name: String) { self.name = name }

    mutating func add(ours: Cost, theirs: Cost) {
        self.ours.append(ours)
        self.theirs.append(theirs)
    }

    /// Time and memory as two rows; the limits are half of what the best published code takes.
    func rows(nanoseconds: Double, allocations: Double) -> [Row] {
        [
            row("ns", limit: nanoseconds) { $0.nanoseconds },
            row("allocations", limit: allocations) { $0.allocations },
        ]
    }

    private func row(_ unit: String, limit: Double, _ figure: (Cost) -> Double) -> Row {
        let mine = ours.map(figure).median
        let other = theirs.map(figure).median
        // Whatever the process does besides, such as growing an array once, is no cost of each operation.
        let counted = mine < 0.05 ? 0 : mine
        return Row(
            name: name, ratio: other > 0 ? mine / other : nil, ours: mine, baseline: other, unit: unit,
            limit: "≤ \(Int(limit))", holds: counted <= limit)
    }
}
