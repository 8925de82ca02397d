/// Values that are kept until they expire, for at most ``capacity`` keys.
///
/// If the cache is full of values that have not expired, a new key replaces a random other one, so that somebody with
/// many keys cannot keep other keys out.
package struct ExpiringCache<Key: Hashable & Sendable, Value: Sendable, Moment: Comparable & Sendable>: Sendable {
    private struct Entry {
        var value: Value
        var until: Moment
        /// The index of the key in `keys`.
        var index: Int
    }

    private var entries: [Key: Entry] = [:]
    /// The keys of all entries. Choosing a random one takes constant time.
    private var keys: [Key] = []
    /// A time before which no value expires.
    private var firstEnd: Moment?
    private let capacity: Int

    package init(capacity: Int) { self.capacity = capacity }

    package var isEmpty: Bool { entries.isEmpty }

    package func value(of key: Key, at now: Moment) -> Value? {
        entries[key].flatMap { $0.until > now ? $0.value : nil }
    }

    package mutating func keep(_ value: Value, of key: Key, until end: Moment, now: Moment) {
        firstEnd = firstEnd.map { min($0, end) } ?? end
        if let index = entries[key]?.index {
            entries[key] = Entry(value: value, until: end, index: index)
            return
        }
        if keys.count >= capacity {
            if let firstEnd, firstEnd <= now { removeExpired(now) }
            if keys.count >= capacity, let other = keys.randomElement() { remove(other) }
        }
        entries[key] = Entry(value: value, until: end, index: keys.count)
        keys.append(key)
    }

    package mutating func remove(_ key: Key) {
        guard let index = entries.removeValue(forKey: key)?.index else { return }
        let last = keys.removeLast()
        if index < keys.count {
            keys[index] = last
            entries[last]?.index = index
        }
    }

    private mutating func removeExpired(_ now: Moment) {
        for (key, entry) in entries where entry.until <= now { remove(key) }
        firstEnd = entries.values.lazy.map(\.until).min()
    }
}
