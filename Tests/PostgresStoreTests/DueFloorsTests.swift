import Jobs
import Testing

@testable import PostgresStore

/// The rows at which the search for due jobs begins.
@Suite struct DueFloorsTests {
    private let now = Timestamp(milliseconds: 1_750_000_000_000)
    private let begun = ContinuousClock.now

    /// Begins a search at this time after the first one.
    private func begin(_ floors: inout DueFloors, after wait: Duration) -> [Timestamp] {
        let found = floors.begin(now: now + wait, steady: now + wait, at: begun + wait)
        return [found.calendar, found.wait]
    }

    @Test func theFirstSearchBeginsAtTheFirstRow() {
        var floors = DueFloors()
        #expect(begin(&floors, after: .zero).allSatisfy { $0.milliseconds == .min })
    }

    @Test func laterSearchesBeginAtTheFirstRowFoundOrTwoSecondsAgo() {
        var floors = DueFloors()
        _ = begin(&floors, after: .zero)
        floors.advance(calendar: now + .seconds(-5), wait: nil, now: now, steady: now)
        #expect(begin(&floors, after: .seconds(14)) == [now + .seconds(-5), now + .seconds(-2)])
        // The clock was set back.
        let earlier = now + .seconds(-100)
        let found = floors.begin(now: earlier, steady: earlier, at: begun + .seconds(14))
        #expect([found.calendar, found.wait] == [earlier + .seconds(-2), earlier + .seconds(-2)])
    }

    /// A long transaction may have inserted rows before the floors.
    @Test func everyFifteenSecondsASearchBeginsAtTheFirstRowAgain() {
        var floors = DueFloors()
        _ = begin(&floors, after: .zero)
        for second in stride(from: 1, through: 45, by: 1) {
            let wait = Duration.seconds(second)
            floors.advance(calendar: nil, wait: nil, now: now + wait, steady: now + wait)
            let isFull = begin(&floors, after: wait).allSatisfy { $0.milliseconds == .min }
            #expect(isFull == (second % 15 == 0), "\(second) s")
        }
    }
}
