import Jobs
import Testing

@testable import SQLiteStore
@testable import StoreParts

@Suite struct SteadyClockTests {
    private let wall = Timestamp(milliseconds: 1_000_000)

    private func clock() -> SteadyClock {
        var clock = SteadyClock(StoppedClock(wall: wall))
        clock.remember(SteadyClock.Row(boot: "", origin: 0, skew: 0), seen: 0)
        clock.read()
        clock.notesWait(now: wall)
        _ = clock.takeChange()
        return clock
    }

    /// Otherwise every wait would write the clock's row: both clocks are rounded to milliseconds.
    @Test(arguments: [-1, 0, 1] as [Int64]) func roundingIsNoChange(milliseconds: Int64) {
        var clock = clock()
        clock.notesWait(now: wall + .milliseconds(milliseconds))
        #expect(clock.takeChange() == nil)
    }

    @Test(arguments: [-2, 2, 400] as [Int64]) func waitThatBeginsNotesASmallChange(milliseconds: Int64) throws {
        var clock = clock()
        clock.notes(wall: wall + .milliseconds(milliseconds))
        #expect(clock.takeChange() == nil)
        clock.notesWait(now: wall + .milliseconds(milliseconds))
        #expect(clock.takeChange() != nil)
    }
}
