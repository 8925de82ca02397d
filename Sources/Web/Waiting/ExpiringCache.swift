/// Values that are kept until they expire, for at most ``capacity`` keys.
///
/// If the cache is full of values that have not expired, a new key replaces a random other one, so that somebody with
/// many keys cannot keep other keys out. Inlinable, since other modules keep large values: code that is not specialized for
/// them copies each one several times.
@usableFromInline
package struct ExpiringCache<Key: Hashable & Sendable, Value: Sendable, Moment: Comparable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var value: Value
        @usableFromInline var until: Moment
        /// The index of the key in `keys`.
        @usableFromInline var index: Int

        @inlinable
        init(value: Value, until: Moment, index: Int) { (self.value, self.until, self.index) = (value, until, index) }
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    /// The keys of all entries. Choosing a random one takes constant time.
    @usableFromInline var keys: [Key] = []
    /// A time before which no value expires.
    @usableFromInline var firstEnd: Moment?
    @usableFromInline let capacity: Int

    @inlinable
    package init(capacity: Int) { self.capacity = capacity }

    @inlinable package var isEmpty: Bool { entries.isEmpty }

    @inlinable
    package func value(of key: Key, at now: Moment) -> Value? {
        entries[key].flatMap { $0.until > now ? $0.value : nil }
    }

    @inlinable
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

    @inlinable
    package mutating func remove(_ key: Key) {
        guard let index = entries.removeValue(forKey: key)?.index else { return }
        let last = keys.removeLast()
        if index < keys.count {
            keys[index] = last
            entries[last]?.index = index
        }
    }

    @inlinable
    mutating func removeExpired(_ now: Moment) {
        for (key, entry) in entries where entry.until <= now { remove(key) }
        firstEnd = entries.values.lazy.map(\.until).min()
    }
}
