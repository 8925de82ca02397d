/// Divides free slots between queues by weight, using smooth weighted round robin. A queue of weight 3 gets three slots
/// for each slot of a queue of weight 1. The slots of the queues alternate evenly, also across many small divisions.
public struct FairShare: Sendable, Hashable {
    /// The slots that a queue wants.
    public struct Demand: Sendable, Hashable {
        /// Identifies the queue across divisions.
        public var key: Int
        /// The weight of the queue, at least 1.
        public var weight: Int
        /// The maximum number of slots that the queue can use.
        public var wanted: Int

        /// Creates a demand.
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

    /// Divides slots between queues.
    ///
    /// - Returns: The number of slots of each queue, in the order of `demands`. The sum is `slots`, or less if the queues
    ///   want fewer.
    public mutating func divide(_ slots: Int, among demands: [Demand]) -> [Int] {
        let wanted = demands.reduce(0) { $0 + $1.wanted }
        // Every queue gets all it wants.
        if wanted <= slots { return demands.map(\.wanted) }
        if demands.count == 1 { return [slots] }
        var given = [Int](repeating: 0, count: demands.count)
        for _ in 0..<slots {
            guard let best = giveSlot(among: demands, where: { given[$0] < demands[$0].wanted }) else { break }
            given[best] += 1
        }
        return given
    }

    /// Gives one slot to a queue.
    ///
    /// - Parameter wants: Whether the queue at this index of `demands` wants a slot. ``Demand/wanted`` has no effect.
    /// - Returns: The index of the queue; nil if none wants a slot.
    public mutating func giveSlot(among demands: [Demand], where wants: (Int) -> Bool) -> Int? {
        var best: Int?
        var total = 0
        for (index, demand) in demands.enumerated() where wants(index) {
            credits[demand.key, default: 0] += demand.weight
            total += demand.weight
            if best.map({ credits[demands[$0].key]! < credits[demand.key]! }) ?? true { best = index }
        }
        if let best { credits[demands[best].key]! -= total }
        return best
    }
}
