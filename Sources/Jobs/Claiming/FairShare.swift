/// Divides free slots between queues by weight, using smooth weighted round robin. A queue of weight 3 gets three slots
/// for each slot of a queue of weight 1. The slots of the queues alternate evenly, also across many small divisions.
public struct FairShare: Sendable, Hashable {
    /// A queue that wants slots.
    public struct Lane: Sendable, Hashable {
        /// Identifies the queue across divisions.
        public var key: Int
        /// The weight of the queue, at least 1.
        public var weight: Int
        /// The maximum number of slots that the queue can use.
        public var wanted: Int

        /// Creates a lane.
        public init(key: Int, weight: Int, wanted: Int) {
            self.key = key
            self.weight = weight
            self.wanted = wanted
        }
    }

    private var credits: [Int: Int] = [:]

    /// Creates a division without history.
    public init() {}

    /// Forgets the history of a key, so that another queue can use it without credit or debt.
    public mutating func forget(_ key: Int) { credits[key] = nil }

    /// Divides slots between lanes.
    ///
    /// - Returns: The number of slots of each lane, in the order of `lanes`. The sum is `slots`, or less if the lanes
    ///   want fewer.
    public mutating func divide(_ slots: Int, among lanes: [Lane]) -> [Int] {
        let wanted = lanes.reduce(0) { $0 + $1.wanted }
        // Every lane gets all it wants.
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
