import Testing

@testable import PostgresStore

/// When a store hears of the calls of `halyard.enqueue` from notifications, and when it looks.
@Suite struct WakefulnessTests {
    private let start = ContinuousClock.now

    @Test func callsNowAndThenAreReportedWithoutWakingUp() {
        var wakefulness = Wakefulness()
        for number in 0..<1000 {
            let actions = wakefulness.notified(at: start + Wakefulness.window / (Wakefulness.burst - 1) * number)
            #expect(actions == ((number + 1) % 512 == 0 ? [.report, .fold] : [.report]))
        }
        #expect(wakefulness.state == .asleep)
        #expect(wakefulness.wait == nil)
    }

    @Test func aBurstWakesUp() {
        var wakefulness = Wakefulness()
        for _ in 1..<Wakefulness.burst { #expect(wakefulness.notified(at: start) == [.report]) }
        #expect(wakefulness.notified(at: start) == [.wakeUp, .report])
        #expect(wakefulness.state == .awake)
        #expect(wakefulness.notified(at: start) == [.report])
        // The first look knows nothing of what came before.
        #expect(wakefulness.saw(calls: 10, hasCallers: false) == [.report])
        #expect(wakefulness.saw(calls: 10, hasCallers: false) == [])
        #expect(wakefulness.saw(calls: 11, hasCallers: false) == [.report])
        #expect(wakefulness.saw(calls: 11, hasCallers: true) == [.report])
        // A caller that has ended since the last look may have committed.
        #expect(wakefulness.saw(calls: 11, hasCallers: false) == [.report])
        #expect(wakefulness.saw(calls: 11, hasCallers: false) == [])
    }

    @Test func fewCallsLetItFallAsleepOnceNoCallerIsLeft() {
        var wakefulness = Self.awake(start)
        var calls: Int64 = 0
        for _ in 0..<100 {
            calls += Int64(Wakefulness.burst)
            #expect(wakefulness.saw(calls: calls, hasCallers: true) == [.report])
        }
        #expect(wakefulness.saw(calls: calls + 512, hasCallers: true) == [.report, .fold])
        calls += 512
        var looks = 0
        while wakefulness.state == .awake {
            looks += 1
            let actions = wakefulness.saw(calls: calls, hasCallers: true)
            #expect(actions == (wakefulness.state == .awake ? [.report] : [.fallAsleep, .look]))
        }
        #expect(looks == 10)
        // A caller may have looked before it fell asleep.
        for _ in 0..<20 { #expect(wakefulness.saw(calls: calls, hasCallers: true) == [.report]) }
        #expect(wakefulness.state == .fallingAsleep)
        #expect(wakefulness.wait == Wakefulness.longestPause)
        #expect(wakefulness.saw(calls: calls, hasCallers: false) == [.report])
        #expect(wakefulness.state == .asleep)
        #expect(wakefulness.saw(calls: calls, hasCallers: false) == [])
    }

    private static func awake(_ now: ContinuousClock.Instant) -> Wakefulness {
        var wakefulness = Wakefulness()
        for _ in 0..<Wakefulness.burst { _ = wakefulness.notified(at: now) }
        return wakefulness
    }
}
