/// Values that are kept until they expire, for at most ``capacity`` keys.
///
/// If every place is taken by a value that has not expired, a new key replaces a random other one, so that somebody with
/// many keys cannot keep other keys out.
package struct ExpiringCache<Key: Hashable & Sendable, Value: Sendable, Moment: Comparable & Sendable>: Sendable {
    private var entries: [Key: (value: Value, until: Moment)] = [:]
    private let capacity: Int

    package init(capacity: Int) { self.capacity = capacity }

    package var isEmpty: Bool { entries.isEmpty }

    package func value(of key: Key, at now: Moment) -> Value? {
        entries[key].flatMap { $0.until > now ? $0.value : nil }
    }

    package mutating func keep(_ value: Value, of key: Key, until end: Moment, now: Moment) {
        if entries.count >= capacity, entries[key] == nil {
            entries = entries.filter { $0.value.until > now }
            if entries.count >= capacity, let other = entries.keys.randomElement() { entries[other] = nil }
        }
        entries[key] = (value, end)
    }

    package mutating func remove(_ key: Key) { entries[key] = nil }
}
