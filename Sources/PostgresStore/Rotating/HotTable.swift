/// A table whose rows come and go with each job. It has two halves, which are its partitions (S4).
enum HotTable: Int, CaseIterable {
    case ready = 0
    case running = 1
    case scheduled = 2
    case blocked = 3
    /// The changes to the counts of queues.
    case tally = 4

    /// The table's bit in the sequence `halves`. It is the same in every release.
    var bit: Int { rawValue }

    /// The table that the halves are partitions of.
    var parent: String {
        switch self {
        case .ready: "ready"
        case .running: "running"
        case .scheduled: "scheduled"
        case .blocked: "blocked"
        case .tally: "tally_change_queue"
        }
    }

    func name(half: Int) -> String { "\(parent)_\(half)" }

    /// Returns one value for each half, such as a statement that inserts into it.
    func halves<Value>(_ value: (_ name: String, _ half: Int) -> Value) -> [Value] {
        [0, 1].map { value(name(half: $0), $0) }
    }
}
