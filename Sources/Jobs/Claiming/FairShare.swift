/// Divides free slots between queues by weight: smooth weighted round robin, so that a queue of weight 3 gets three
/// slots for each one of a queue of weight 1, evenly mixed, and also over many small divisions.
public struct FairShare: Sendable, Hashable {
    /// A queue that wants slots.
    public struct Lane: Sendable, Hashable {
        /// Tells the queue apart from one division to the next.
        public var key: Int
        public var weight: Int
        /// The most slots it can use.
        public var wanted: Int

        public init(key: Int, weight: Int, wanted: Int) {
            self.key = key
            self.weight = weight
            self.wanted = wanted
        }
    }

    private var credits: [Int: Int] = [:]

    public init() {}

    /// Another queue takes the key: it owes nothing and nothing is owed to it.
    public mutating func forget(_ key: Int) { credits[key] = nil }

    /// The slots of each lane, in the order of `lanes`; together `slots`, unless the lanes want fewer.
    public mutating func divide(_ slots: Int, among lanes: [Lane]) -> [Int] {
        let wanted = lanes.reduce(0) { $0 + $1.wanted }
        // Nobody takes anything from anybody.
        if wanted <= slots { return lanes.map(\.wanted) }
        if lanes.count == 1 { return [slots] }
        var given = [Int](repeating: 0, count: lanes.count)
        for _ in 0..<slots {
            var best: Int?
            var turn = 0
            for (index, lane) in lanes.enumerated() where given[index] < lane.wanted {
                credits[lane.key, default: 0] += lane.weight
                turn += lane.weight
                if best.map({ credits[lanes[$0].key]! < credits[lane.key]! }) ?? true { best = index }
            }
            guard let best else { break }
            credits[lanes[best].key]! -= turn
            given[best] += 1
        }
        return given
    }
}
