import CTimerFD
import Glibc
import Jobs
import Synchronization
import Testing

@testable import Runner

@Suite struct SystemClockTests {
    /// P8: setting the timer may be what hears that the clock was set. Whoever sets it may hold what ringing takes.
    @Test func clockThatWasSetMeanwhileRingsOnAnotherThread() async throws {
        let rang = Signal()
        let held = Mutex(())
        let timer = try KernelTimer(
            clock: CLOCK_REALTIME,
            settime: { _, _, _ in
                errno = ECANCELED
                return -1
            },
            ring: {
                held.withLock { _ in }
                rang.fire(true)
            })
        held.withLock { _ in timer.set(timespec()) }
        #expect(await rang.wait())
    }

    @Test func wallAlarmRingsWhenItsMomentHasCome() async throws {
        let clock = SystemWallClock()
        let rang = Signal()
        let alarm = try clock.alarm { rang.fire(true) }
        let moment = clock.now + .milliseconds(20)
        alarm.set(moment)
        #expect(await rang.wait())
        #expect(clock.now >= moment)
    }

    @Test func uptimeAlarmForThePastRingsAtOnce() async throws {
        let clock = SystemUptimeClock()
        let rang = Signal()
        let alarm = try clock.alarm { rang.fire(true) }
        alarm.set(.zero)
        #expect(await rang.wait())
    }

    @Test func laterMomentReplacesAnEarlierOne() async throws {
        let clock = SystemUptimeClock()
        let first = Signal()
        let second = Signal()
        let moved = try clock.alarm { first.fire(true) }
        let other = try clock.alarm { second.fire(true) }
        moved.set(clock.now + .milliseconds(10))
        moved.set(clock.now + .seconds(3600))
        other.set(clock.now + .milliseconds(30))
        #expect(await second.wait())
        first.fire(false)
        #expect(await first.wait() == false)
    }

    @Test func silencedAlarmDoesNotRing() async throws {
        let clock = SystemWallClock()
        let first = Signal()
        let second = Signal()
        let silenced = try clock.alarm { first.fire(true) }
        let other = try clock.alarm { second.fire(true) }
        silenced.set(clock.now + .milliseconds(10))
        silenced.set(nil)
        other.set(clock.now + .milliseconds(30))
        #expect(await second.wait())
        first.fire(false)
        #expect(await first.wait() == false)
    }

    @Test func distantMomentsAreTaken() throws {
        let alarm = try SystemWallClock().alarm {}
        alarm.set(Timestamp(milliseconds: .max))
        alarm.set(Timestamp(milliseconds: .min))
    }
}
