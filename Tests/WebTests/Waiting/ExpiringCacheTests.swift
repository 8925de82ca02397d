import Testing

@testable import Web

@Suite struct ExpiringCacheTests {
    private static let capacity = 100

    private func full(until end: (Int) -> Int) -> ExpiringCache<Int, Int, Int> {
        var cache = ExpiringCache<Int, Int, Int>(capacity: Self.capacity)
        for key in 0..<Self.capacity { cache.keep(-key, of: key, until: end(key), now: 0) }
        return cache
    }

    private func kept(_ cache: ExpiringCache<Int, Int, Int>, at now: Int) -> [Int] {
        (0..<10 * Self.capacity).filter { cache.value(of: $0, at: now) == -$0 }
    }

    @Test func valueIsKeptUntilItExpires() {
        var cache = full { $0 }
        #expect(kept(cache, at: 50) == Array(51..<100))
        cache.keep(-50, of: 50, until: 60, now: 50)
        #expect(kept(cache, at: 50) == Array(50..<100))
        #expect(kept(cache, at: 60) == Array(61..<100))
    }

    @Test func newKeyReplacesExpiredOnesFirst() {
        var cache = full { $0 < 40 ? 10 : 1000 }
        for key in 100..<140 { cache.keep(-key, of: key, until: 1000, now: 10) }
        #expect(kept(cache, at: 10) == Array(40..<140))
        cache.keep(-140, of: 140, until: 1000, now: 10)
        #expect(kept(cache, at: 10).count == Self.capacity && cache.value(of: 140, at: 10) == -140)
    }

    /// A user with many keys replaces random entries, and the capacity is never exceeded.
    @Test func manyKeysKeepToTheCapacity() {
        var cache = full { _ in 1000 }
        for key in 100..<1000 { cache.keep(-key, of: key, until: 1000, now: 0) }
        #expect(kept(cache, at: 0).count == Self.capacity)
        for key in kept(cache, at: 0) { cache.remove(key) }
        #expect(cache.isEmpty)
        cache.remove(1)
        cache.keep(-1, of: 1, until: 1, now: 0)
        #expect(kept(cache, at: 0) == [1])
    }
}
